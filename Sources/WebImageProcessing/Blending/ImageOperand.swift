internal import WebImageCoding
internal import WebImageCore

/// A second picture that a processor works with, and the text that tells it from all others.
struct ImageOperand: Sendable, ProcessorParameter {
    let image: Image
    let identifierValue: ProcessorIdentifier.Value

    /// - Parameter id: what the caller knows the picture by; otherwise it is known by SHA-256 of its pixels.
    init(_ image: Image, id: String?) {
        self.image = image
        // The two kinds begin differently: nobody's name is another's digest. The last hyphen ends it: a scale has none of
        // its own, whatever it is.
        let identity = id.map { "id-" + ProcessorIdentifier.escaped($0) } ?? "sha256-" + image.pixels.digest
        let scale = image.scale.identifierValue.description.split(separator: "-", omittingEmptySubsequences: false)
        identifierValue = ProcessorIdentifier.Value(verbatim: identity + "-" + scale.joined(separator: "%2D"))
    }

    /// Its pixels, brought to `size` where they have another.
    ///
    /// - Throws: as ``PixelBuffer/resampled(to:cancellation:)``.
    func pixels(size: PixelSize, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
        try image.pixels.resampled(to: size, cancellation: cancellation)
    }
}

extension PixelBuffer {
    /// SHA-256 of the size and the pixels.
    fileprivate var digest: String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(16 + width * 4 * height)
        for length in [width, height] {
            Swift.withUnsafeBytes(of: UInt64(length).littleEndian) { bytes.append(contentsOf: $0) }
        }
        for y in 0..<height { bytes.append(contentsOf: UnsafeBufferPointer(start: row(y), count: width * 4)) }
        return SHA256.hexDigest(of: bytes)
    }
}
