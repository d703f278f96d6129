import WebImageCaching

/// Comparisons for a view whose URL is set again.
extension WebImageRequest {
    /// Whether both requests are for the same image, and this one does not require a new one.
    ///
    /// URLs are compared first: most requests differ in them, and making cache keys takes longer.
    public func isForSameImage(as earlier: WebImageRequest) -> Bool {
        cachePolicy != .reload && url == earlier.url
            && options.contains(.ignoreDecoding) == earlier.options.contains(.ignoreDecoding)
            && cacheKey == earlier.cacheKey
    }

    /// Whether the image of `earlier`, a request for the same image, answers this request like an image in memory.
    public func isAnswered(byImageOf earlier: WebImageRequest) -> Bool {
        // The response needs what is not on display: an answer of the server, the file's bytes or header, or the end of
        // the stores.
        guard ![.reload, .refresh, .http].contains(cachePolicy),
            options.isDisjoint(with: [.ignoreDecoding, .queryMemoryData, .waitForStore]),
            !options.contains(.matchAnimatedKind) || earlier.options.contains(.matchAnimatedKind)
        else { return false }
        guard detail({ !$0.bypassesCaches && $0.cacheAccess.query.contains(.memory) }) else { return false }
        if box === earlier.box { return true }
        let (details, others) = (details, earlier.details)
        return details.headers == others.headers && details.allowsDamage == others.allowsDamage
            && details.hasSameComponents(as: others)
    }

    /// Whether the load of `earlier`, a request for the same image, is also that of this request. The priorities may
    /// differ.
    public func isLoaded(like earlier: WebImageRequest) -> Bool {
        cachePolicy == earlier.cachePolicy && options == earlier.options && keepsPixels == earlier.keepsPixels
            && box === earlier.box
    }
}

extension RequestDetails {
    /// Whether both use the same objects in place of the manager's.
    fileprivate func hasSameComponents(as other: RequestDetails) -> Bool {
        cache === other.cache && originalCache === other.originalCache && loaders === other.loaders
            && codecs === other.codecs
    }
}
