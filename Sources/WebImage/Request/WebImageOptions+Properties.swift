import WebImageCore

/// What options say that a request's properties say too.
extension WebImageOptions {
    /// `nil` where they leave it open.
    var priority: LoadPriority? {
        if contains(.highPriority) { return .high }
        return contains(.lowPriority) ? .low : nil
    }

    /// `nil` where they leave it open.
    var cachePolicy: CachePolicy? {
        if contains(.cacheOnly) { return .cacheOnly }
        if contains(.loaderOnly) { return .reload }
        if contains(.refreshCache) { return .refresh }
        return contains(.httpCache) ? .http : nil
    }

    /// Whether and how a file is shown that is arriving.
    var previews: PreviewStyle? {
        guard !contains(.ignoreDecoding) else { return nil }
        switch (contains(.progressive), contains(.progressiveBlur)) {
        case (false, false): return nil
        case (true, false): return .sharp
        case (false, true): return .blurred
        case (true, true): return .blurredIfWhole
        }
    }

    /// Whether a memory hit is to come with the file's bytes.
    var wantsMemoryData: Bool {
        !isDisjoint(with: [.queryMemoryData, .queryMemoryDataSync]) && !contains(.ignoreDiskCache)
    }
}
