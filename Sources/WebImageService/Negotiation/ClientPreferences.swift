internal import WebImageCore
internal import WebImageLoading

/// What the header fields of a request say about the image that the client wants. Fields are read when they are needed.
struct ClientPreferences {
    let request: ServiceRequest

    /// Of the formats that clients do not take for granted, those that the client names, in the same order.
    func formats(of offered: [ImageFormat]) -> [ImageFormat] {
        guard !offered.isEmpty, let accepted = request.header("Accept") else { return [] }
        let types = Self.types(in: accepted)
        return offered.filter { types.contains($0.mimeType) }
    }

    /// Pixels for each CSS pixel.
    var density: Double? {
        (request.header("Sec-CH-DPR") ?? request.header("DPR")).flatMap { Double($0) }
            .flatMap { (0.1...10).contains($0) ? $0 : nil }
    }

    /// In CSS pixels.
    var width: Int? {
        (request.header("Sec-CH-Width") ?? request.header("Width")).flatMap { Int($0) }
            .flatMap { (1...OptionReader.longestSide).contains($0) ? $0 : nil }
    }

    /// The media types that a list names, without ranges such as `image/*` and without those of quality 0.
    private static func types(in list: String) -> Set<String> {
        Set(
            list.listElements.compactMap { item in
                let parts = item.split(separator: ";").map { String($0).trimmingHTTPSpace.lowercased() }
                let quality = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) }
                return quality ?? 1 > 0 ? parts.first : nil
            })
    }
}
