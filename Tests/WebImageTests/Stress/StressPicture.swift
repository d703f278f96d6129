import FoundationEssentials
import WebImage
@testable import WebImageProcessing

/// An image of one colour, which tells whose it is, which edition, and what was made of it.
///
///     red, green   the number of its URL
///     blue         below 64 the edition; the two bits above are the marks of processors
struct StressPicture: Hashable {
    static let editionCount = 64

    let number: Int
    let edition: Int

    /// Whose it is, as every source of images names them.
    static func number(of url: URL) -> Int? { Int(url.lastPathComponent.prefix { $0 != "." }) }

    var size: PixelSize {
        let unit = 2 + number % 4
        return PixelSize(width: 16 * unit, height: 12 * unit)
    }

    /// Every fifth is an animation.
    var isAnimated: Bool { number % 5 == 2 }

    func data() throws -> Data {
        let picture = solidPicture
        guard isAnimated else { return try picture.png() }
        var animation = EncodableAnimation(loopCount: 0)
        for _ in 0..<2 { animation.append(try picture.png(), duration: .milliseconds(100)) }
        return try CodecRegistry.shared.encode(animation, as: .gif)
    }

    private var solidPicture: SolidPicture {
        SolidPicture(number & 0xFFFF | (edition % Self.editionCount) << 16, size: size)
    }
}

/// The content of an image's pixels.
struct StressReading: Equatable {
    let number: Int
    let edition: Int
    let marks: UInt8

    init?(_ pixel: SIMD4<UInt8>) {
        guard pixel.w == 255 else { return nil }
        number = Int(pixel.x) | Int(pixel.y) << 8
        (edition, marks) = (Int(pixel.z & 63), pixel.z & ~63)
    }

    /// Of a whole image; `nil` where its pixels do not agree.
    init?(whole image: Image) {
        let (right, bottom) = (image.width - 1, image.height - 1)
        let places = [(0, 0), (right, 0), (0, bottom), (right, bottom), (right / 2, bottom / 2)]
        let readings = places.map { StressReading(image.pixels[$0.0, $0.1]) }
        guard let first = readings[0], readings.allSatisfy({ $0 == first }) else { return nil }
        self = first
    }

    /// Of one that may still be arriving; `nil` where nothing of it is there yet.
    ///
    /// - Returns: also whether all that is there says the same.
    static func partial(_ image: Image) -> (reading: StressReading?, isSound: Bool) {
        let column = (0..<image.height).map { image.pixels[image.width / 2, $0] }
        let arrived = column.prefix { $0.w == 255 }
        // Where it has been scaled, the last rows are mixed with those that have not arrived.
        let known = (arrived.count == column.count ? arrived : arrived.dropLast(3)).map { StressReading($0) }
        return (known.first ?? nil, known.allSatisfy { $0 == known.first })
    }
}

/// Sets a bit of an image's blue, or fails.
struct StressMark: PixelProcessor {
    let bit: UInt8
    var isBroken = false

    static let (first, second): (UInt8, UInt8) = (64, 128)

    var identifier: ProcessorIdentifier { ProcessorIdentifier("mark", ["bit": "\(bit)", "broken": "\(isBroken)"]) }

    func process(_ pixels: PixelBuffer, scale: Double, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer
    {
        try cancellation?.check()
        guard !isBroken else { throw .processing(identifier: identifier.description, reason: .failed("broken")) }
        var result = try MutablePixelBuffer(width: pixels.width, height: pixels.height)
        result.withUnsafeMutableBytes { bytes in
            pixels.withUnsafeBytes { bytes.copyMemory(from: $0) }
            for offset in stride(from: 0, to: bytes.count, by: 4) where bytes[offset + 3] == 255 {
                bytes[offset + 2] |= bit
            }
        }
        return result.freeze(isOpaque: pixels.isOpaque)
    }
}

/// The variant of an image that a request asks for.
enum StressVariant: CaseIterable {
    case whole, fitted, smaller, filling, stretched, marked, markedTwice, fittedAndMarked, closure, broken, firstFrame
    case scaled, undecoded

    var thumbnail: Thumbnail? {
        switch self {
        case .fitted, .fittedAndMarked: Thumbnail(.pixels(width: 24, height: 18))
        case .smaller: Thumbnail(.pixels(width: 16, height: 12))
        case .filling: Thumbnail(.pixels(width: 12, height: 15), mode: .aspectFill)
        case .stretched: Thumbnail(.pixels(width: 10, height: 14), mode: .stretch)
        default: nil
        }
    }

    var processors: [ImageProcessor] {
        let (first, second) = (StressMark(bit: StressMark.first).erased, StressMark(bit: StressMark.second).erased)
        return switch self {
        case .marked, .fittedAndMarked: [first]
        case .markedTwice: [first, second]
        case .closure: [.transform { image, cancellation in try second.process(image, cancellation: cancellation) }]
        case .broken: [first, StressMark(bit: StressMark.second, isBroken: true).erased]
        default: []
        }
    }

    var marks: UInt8 {
        switch self {
        case .marked, .fittedAndMarked: StressMark.first
        case .markedTwice, .broken: StressMark.first | StressMark.second
        case .closure: StressMark.second
        default: 0
        }
    }

    func request(_ url: URL) -> WebImageRequest {
        var request = WebImageRequest(url, thumbnail: thumbnail, processors: processors)
        switch self {
        case .firstFrame: request.options.insert(.firstFrameOnly)
        case .scaled: request.scale = 2
        case .undecoded: request.options.insert(.ignoreDecoding)
        default: break
        }
        return request
    }

    /// Returns why `image` is not this variant of image `number`; `nil` if it is.
    func fault(of image: Image, number: Int) -> String? {
        if self == .undecoded {
            return image.isPartial && image.width == 1 ? nil : "a picture in place of a stand-in"
        }
        guard !image.isPartial else { return "partial" }
        guard let reading = StressReading(whole: image) else { return "pixels of several colours" }
        guard reading.number == number else { return "the picture of \(reading.number)" }
        guard reading.marks == marks else { return "marks \(reading.marks) in place of \(marks)" }
        let size = StressPicture(number: number, edition: 0).size
        let wanted = thumbnail?.targetSize(of: size) ?? size
        // Made of another thumbnail, whose proportions were rounded, a side may differ by one.
        let (width, height) = (abs(image.width - wanted.width), abs(image.height - wanted.height))
        guard max(width, height) <= (thumbnail == nil ? 0 : 1) else {
            return "\(image.width)x\(image.height) in place of \(wanted.width)x\(wanted.height)"
        }
        guard image.scale == (self == .scaled ? 2 : 1) else { return "scale \(image.scale)" }
        return nil
    }
}
