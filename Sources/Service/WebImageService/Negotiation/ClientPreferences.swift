internal import WebImageCore
internal import WebImageLoading

/// The preferences of a client about the image, in the header fields of a request. Fields are read when they are needed.
struct ClientPreferences {
    let request: ServiceRequest

    /// Of the formats that clients do not take for granted, those that the client names, in the same order.
    func formats(of offered: [ImageFormat]) -> [ImageFormat] {
        guard !offered.isEmpty, let accepted = request.header("Accept") else { return [] }
        let types = Self.types(in: accepted)
        return offered.filter { types.contains($0.mimeType) }
    }

    // Each value makes another result, and a client can send any: a signed path has a bounded number of results, some 1,900, because values are
    // rounded and limited. Densities of displays are multiples of a quarter, and 63 pixels more are not visible.

    /// Pixels for each CSS pixel, in quarters from 0.5 to 4.
    var density: Double? {
        (request.header("Sec-CH-DPR") ?? request.header("DPR")).flatMap { Double($0) }
            .flatMap { (0.1...10).contains($0) ? min(max(0.5, ($0 * 4).rounded() / 4), 4) : nil }
    }

    /// In physical pixels, rounded up to a multiple of 64, at most 8,192.
    var width: Int? {
        (request.header("Sec-CH-Width") ?? request.header("Width")).flatMap { Int($0) }
            .flatMap {
                (1...OptionReader.longestSide).contains($0) ? min(($0 + 63) / 64 * 64, 8192) : nil
            }
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
