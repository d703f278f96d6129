import FoundationEssentials

extension WebImageRequest {
    /// What its picture is found by in memory; its ``ImageCacheKey/original`` finds the bytes on disk.
    public var cacheKey: ImageCacheKey { ImageCacheKey(source: source, variant: variant) }

    private var source: String {
        let address = url.absoluteString
        guard !headers.isEmpty else { return address }
        let credentials =
            headers
            .map { (name: $0.key.lowercased(), value: $0.value) }
            .filter { Self.credentialHeaders.contains($0.name) }
            .sorted { $0.name < $1.name }
        guard !credentials.isEmpty else { return address }
        // Lengths keep fields apart, so that no two sets of headers give one text.
        let text = credentials.map { "\($0.name):\($0.value.utf8.count):\($0.value)" }.joined(separator: "\n")
        return "\(address)|credentials=\(SHA256.hexDigest(of: Array(text.utf8)))"
    }

    private var variant: String? {
        var parts: [String] = []
        if let thumbnail, thumbnail.isBounded {
            parts.append("thumbnail=\(thumbnail.size.width)x\(thumbnail.size.height),\(thumbnail.mode.rawValue)")
        }
        if scale != 1 { parts.append("scale=\(scale)") }
        return parts.isEmpty ? nil : parts.joined(separator: "&")
    }

    private static let credentialHeaders: Set = ["authorization", "cookie", "proxy-authorization"]
}
