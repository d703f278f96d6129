internal import WebImageCore

/// What the header fields of a request say about the image that the client wants.
struct ClientPreferences: Sendable, Hashable {
    /// Of the formats that the service offers, those that the client names, in the service's order.
    var formats: [ImageFormat] = []
    /// Pixels for each CSS pixel.
    var density: Double?
    /// In CSS pixels.
    var width: Int?

    /// - Parameters:
    ///   - offered: the formats that clients do not take for granted.
    ///   - usesHints: whether the fields of client hints count.
    init(_ request: ServiceRequest, offered: [ImageFormat], usesHints: Bool) {
        if !offered.isEmpty, let accepted = request.header("Accept") {
            let types = Self.types(in: accepted)
            formats = offered.filter { types.contains($0.mimeType) }
        }
        guard usesHints else { return }
        density = (request.header("Sec-CH-DPR") ?? request.header("DPR")).flatMap { Double($0) }
            .flatMap { (0.1...10).contains($0) ? $0 : nil }
        width = (request.header("Sec-CH-Width") ?? request.header("Width")).flatMap { Int($0) }
            .flatMap { (1...OptionReader.longestSide).contains($0) ? $0 : nil }
    }

    /// The media types that a list names, without ranges such as `image/*` and without those of quality 0.
    private static func types(in list: String) -> Set<String> {
        var types: Set<String> = []
        for item in list.split(separator: ",") {
            let parts = item.split(separator: ";").map { part in
                part.filter { $0 != " " && $0 != "\t" }.lowercased()
            }
            guard let type = parts.first else { continue }
            let quality = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) }
            if quality ?? 1 > 0 { types.insert(type) }
        }
        return types
    }
}
