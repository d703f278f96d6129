internal import WebImageCore

extension PNGPicture {
    /// Pixels of a picture, perhaps of its upper part only.
    struct Decoded {
        let pixels: PixelBuffer
        /// Why some are missing or may be wrong; `nil` where all is well.
        let failure: WebImageError?
    }

    /// Decodes what is there of the picture, the rest stays clear.
    ///
    /// - Parameters:
    ///   - data: the file's bytes.
    ///   - stream: one that has begun with the picture.
    ///   - shortage: why rows are missing if nothing else is wrong.
    /// - Throws: ``WebImageError/decoding(format:reason:)`` when there is no row at all,
    ///   ``WebImageError/outOfMemory(byteCount:)``, ``WebImageError/cancelled``.
    func decoded(
        from data: RawSpan, goingOnWith stream: PNGStreamDecoder? = nil,
        shortage: WebImageError.DecodingFailure, cancellation: Cancellation?
    ) throws(WebImageError) -> Decoded {
        // From its start the fast way takes a third of the time: it pays unless two thirds are there.
        let isNearlyThere = (stream?.missingRowCount ?? .max) <= layout.size.height / 3
        if !isNearlyThere, let whole = try fastDecoded(from: data, cancellation: cancellation) { return whole }
        let begun: PNGStreamDecoder
        if let stream { begun = stream } else { begun = try PNGStreamDecoder(self) }
        let decoded = try decoded(from: data, with: begun, shortage: shortage, cancellation: cancellation)
        // libdeflate takes streams that zlib does not: what becomes of them must not depend on the previews.
        guard isNearlyThere, decoded.failure != nil,
            let whole = try fastDecoded(from: data, cancellation: cancellation)
        else { return decoded }
        return whole
    }

    private func fastDecoded(from data: RawSpan, cancellation: Cancellation?) throws(WebImageError) -> Decoded? {
        guard let pixels = try PNGFastDecoder(self)?.pixels(in: data, cancellation: cancellation) else { return nil }
        return Decoded(pixels: pixels, failure: nil)
    }

    private func decoded(
        from data: RawSpan, with stream: PNGStreamDecoder, shortage: WebImageError.DecodingFailure,
        cancellation: Cancellation?
    ) throws(WebImageError) -> Decoded {
        try stream.take(chunks, of: data, cancellation: cancellation)
        let failure =
            stream.failure ?? (stream.missingRowCount > 0 ? .decoding(format: .png, reason: shortage) : nil)
        if let failure, stream.shownRowCount == 0 { throw failure }
        return Decoded(pixels: try stream.finish(cancellation: cancellation), failure: failure)
    }
}
