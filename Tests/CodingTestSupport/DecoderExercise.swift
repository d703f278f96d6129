package import FoundationEssentials
package import WebImageCoding
import WebImageCore

/// Decodes an input in all ways and compares the results that must be equal, whatever the input is.
///
/// Fuzzing uses it too.
package struct DecoderExercise {
    package let decoder: any ImageDecoder
    package let input: Data
    /// The differences found.
    package private(set) var faults: [String] = []
    private let generator: SmallGenerator

    /// Small, so that bombs take milliseconds.
    private static let limits = {
        var limits = DecodingLimits.default
        limits.pixelCount = 1 << 20
        limits.scanCount = 20
        return limits
    }()
    private static let frameLimit = 20

    package init(_ decoder: any ImageDecoder, input: Data) {
        self.decoder = decoder
        self.input = input
        generator = SmallGenerator(seed: input)
    }

    package mutating func run() {
        var options = DecodingOptions(limits: Self.limits)
        _ = try? decoder.info(of: input)
        for length in [input.count / 3, input.count] { _ = try? decoder.probe(input.prefix(length)) }

        let lenient = Result { () throws(WebImageError) -> Image in try decoder.decode(input, options: options) }
        compareWithSecondDecode(lenient, options)
        compareWithPieces(lenient, options)
        readFrames(lenient, options)

        options.allowsDamage = false
        let strict = Result { () throws(WebImageError) -> Image in try decoder.decode(input, options: options) }
        compareWithPieces(strict, options)
        if case .success(let strict) = strict {
            if strict.isPartial { faults.append("a partial image where damage is refused") }
            if case .success(let lenient) = lenient {
                if strict.pixels.firstRow(unlike: lenient.pixels) != nil {
                    faults.append("other pixels where damage is refused")
                }
            } else {
                faults.append("good where damage is refused, and only there")
            }
        }

        options.thumbnail = Thumbnail(.pixels(width: 7, height: 5), mode: .aspectFit)
        let thumbnail = Result { () throws(WebImageError) -> Image in try decoder.decode(input, options: options) }
        compareWithPieces(thumbnail, options)
    }

    /// Finds uninitialized pixels, which contain what was in that memory before.
    private mutating func compareWithSecondDecode(_ first: Result<Image, WebImageError>, _ options: DecodingOptions) {
        guard case .success(let image) = first else { return }
        let size = image.pixels.size
        do {
            try Self.leavePattern(in: size)
            let second = try decoder.decode(input, options: options)
            if second.pixels.firstRow(unlike: image.pixels) != nil {
                faults.append("a second decode gives other pixels")
            }
        } catch {
            faults.append("a second decode fails: \(error)")
        }
    }

    private static func leavePattern(in size: PixelSize) throws(WebImageError) {
        var pixels = try MutablePixelBuffer(width: size.width, height: size.height)
        pixels.withUnsafeMutableBytes { _ = $0.initializeMemory(as: UInt8.self, repeating: 0xA5) }
    }

    private mutating func compareWithPieces(_ whole: Result<Image, WebImageError>, _ options: DecodingOptions) {
        guard let incremental = decoder.makeIncrementalDecoder(options: options) else { return }
        let pieces = Result { () throws(WebImageError) -> Image in
            var random = generator
            var offset = 0
            while offset < input.count {
                let length = min(input.count - offset, 1 + Int(random.next() % 300))
                try incremental.append(input.dropFirst(offset).prefix(length))
                offset += length
                _ = incremental.probe
                if random.next() % 4 == 0, let preview = try incremental.preview(), !preview.isPartial {
                    faults.append("a preview that is not called partial")
                }
                if random.next() % 16 == 0 {
                    let reader = incremental.animation?.makeFrameReader()
                    _ = try? reader?.frame(at: 0, cancellation: nil)
                }
            }
            return try incremental.finish()
        }
        switch (whole, pieces) {
        case (.success(let whole), .success(let pieces)):
            if let row = whole.pixels.firstRow(unlike: pieces.pixels) {
                faults.append(
                    "other pixels in pieces from row \(row) of \(whole.pixels.height) (\(options.allowsDamage ? "damage allowed" : "damage refused"))"
                )
            }
            if whole.isPartial != pieces.isPartial {
                faults.append("partial one way only (\(options.allowsDamage ? "damage allowed" : "damage refused"))")
            }
        case (.failure, .failure): break
        case (.success, .failure(let error)):
            faults.append(
                "fails in pieces only (\(options.allowsDamage ? "damage allowed" : "damage refused")): \(error)")
        case (.failure(let error), .success):
            faults.append(
                "fails as a whole only (\(options.allowsDamage ? "damage allowed" : "damage refused")): \(error)")
        }
    }

    private mutating func readFrames(_ first: Result<Image, WebImageError>, _ options: DecodingOptions) {
        guard let animation = try? decoder.animation(of: input, options: options) else { return }
        let reader = animation.makeFrameReader()
        let count = min(animation.frameCount, Self.frameLimit)
        let frames = (0..<count).map { try? reader.frame(at: $0, cancellation: nil) }
        for index in stride(from: count - 1, through: 0, by: -3) {
            let again = try? animation.makeFrameReader().frame(at: index, cancellation: nil)
            if !isEqual(again, frames[index]) { faults.append("frame \(index) depends on those before it") }
        }
        if case .success(let image) = first, let frame = frames.first ?? nil, !isEqual(frame, image.pixels) {
            faults.append("the first frame differs")
        }
    }

    private func isEqual(_ one: PixelBuffer?, _ other: PixelBuffer?) -> Bool {
        guard let one, let other else { return one == nil && other == nil }
        return one.firstRow(unlike: other) == nil
    }
}

/// Random numbers that depend on the input only (xorshift64).
private struct SmallGenerator {
    private var state: UInt64

    init(seed: Data) {
        state = 0x9E37_79B9_7F4A_7C15
        // Eight bytes at once, since a debug build makes a call for each step.
        seed.withUnsafeBytes { bytes in
            for offset in stride(from: 0, to: bytes.count - 7, by: 8) {
                state = (state ^ bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) &* 0x100_0000_01B3
            }
            for byte in bytes.suffix(bytes.count % 8) { state = (state ^ UInt64(byte)) &* 0x100_0000_01B3 }
        }
        state |= 1
    }

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }
}

extension PixelBuffer {
    fileprivate func firstRow(unlike other: PixelBuffer) -> Int? {
        guard size == other.size else { return 0 }
        return withUnsafeBytes { bytes in
            other.withUnsafeBytes { bytes.firstRow(unlike: $0, byteCount: bytesPerRow) }
        }
    }
}
