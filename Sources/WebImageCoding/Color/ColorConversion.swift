internal import CWebImageKernels
package import WebImageCore

/// How the colours of one file become sRGB: found once a file, then applied to each picture in it.
///
/// Light is converted last, when there are fewest pixels left: ``convertedToSRGB(_:cancellation:)``. Ink can't be resampled as
/// it is, so it is converted first, row by row: ``convertInk(_:pixelCount:)``. Each leaves alone what is the other's.
package struct ColorConversion: Sendable {
    /// `nil` where nothing is to be done.
    private let transform: (any ColorTransform)?
    private let model: ColorModel

    /// For what is sRGB already.
    package static let none = ColorConversion(from: .sRGB)

    /// Finds the way from `encoding`; what describes sRGB, or can't be made sense of, or is for another model than the
    /// picture's, leaves the pixels as they are.
    package init(from encoding: ColorEncoding, model: ColorModel = .rgb) {
        self.model = model
        transform = encoding == .sRGB ? nil : ColorTransformCache.shared.transform(from: encoding, model: model)
    }

    /// Whether pixels stay as they are.
    package var isIdentity: Bool { transform == nil }

    /// Whether ``convertedToSRGB(_:cancellation:)`` takes memory for a second buffer.
    var copiesPixels: Bool { transform != nil && model != .cmyk }

    /// `pixels`, premultiplied in the file's colours, in sRGB; the same object where nothing is to be done.
    ///
    /// - Throws: ``WebImageError/outOfMemory(byteCount:)``, ``WebImageError/cancelled``.
    package func convertedToSRGB(
        _ pixels: PixelBuffer, cancellation: Cancellation? = nil
    ) throws(WebImageError) -> PixelBuffer {
        guard let transform, model != .cmyk else { return pixels }
        var output = try MutablePixelBuffer(width: pixels.width, height: pixels.height)
        let stride = output.bytesPerRow
        try output.withUnsafeMutableBytes { (bytes) throws(WebImageError) in
            guard let destination = bytes.bindMemory(to: UInt8.self).baseAddress else { return }
            let source = pixels.baseAddress.assumingMemoryBound(to: UInt8.self)
            try pixels.size.forEachRowBatch(cancellation: cancellation) { rows in
                for row in rows {
                    transform.convert(
                        source + row * pixels.bytesPerRow, to: destination + row * stride, pixelCount: pixels.width)
                }
            }
        }
        return output.freeze(isOpaque: pixels.isOpaque)
    }

    /// Turns ink into opaque sRGB in place: by the file's profile, else by the rule that each ink takes its light away.
    func convertInk(_ pixels: UnsafeMutablePointer<UInt8>, pixelCount: Int) {
        if let transform, model == .cmyk {
            transform.convert(pixels, to: pixels, pixelCount: pixelCount)
        } else {
            cwi_inverted_cmyk_to_rgba(pixels, pixelCount)
        }
    }
}

/// What a file says about the meaning of its numbers.
package enum ColorEncoding: Sendable, Hashable {
    /// sRGB, or nothing, which means the same.
    case sRGB
    /// An ICC profile.
    case profile(ColorProfile)
    /// Red, green and blue lights of its own, with one curve for all three.
    case primaries(ColorPrimaries, ToneCurve)
    /// sRGB's lights and a power between light and number, as PNG's `gAMA` names it: 0.45455 for common displays.
    case gamma(Double)
}

/// What the components of a stored pixel stand for.
package enum ColorModel: Sendable, Hashable {
    /// One component of light.
    case gray
    /// Red, green and blue light; palettes, YCbCr and the like are unpacked to it before colours count.
    case rgb
    /// Cyan, magenta, yellow and black ink, each as 255 minus its amount.
    case cmyk
}

extension ColorEncoding {
    /// The way from here to sRGB for pictures of `model`; `nil` where they are to stay as they are.
    func makeTransform(model: ColorModel) -> (any ColorTransform)? {
        let transform: (any ColorTransform)? =
            switch self {
            case .sRGB: nil
            case .profile(let profile): profile.makeTransform(model: model)
            case .primaries(let primaries, let curve):
                primaries.matrixToConnectionSpace.flatMap {
                    MatrixShaper(curves: [curve, curve, curve], matrix: $0)
                }
            case .gamma(let gamma): ToneMap(fileGamma: gamma)
            }
        guard let transform, model == .cmyk || !transform.changesNothingVisible else { return nil }
        return transform
    }

    /// The memory it takes, in bytes.
    var byteCount: Int {
        if case .profile(let profile) = self { profile.bytes.count } else { 0 }
    }
}

extension ColorProfile {
    fileprivate func makeTransform(model: ColorModel) -> (any ColorTransform)? {
        switch (self.model, model) {
        case (.cmyk, .cmyk):
            return LittleCMSTransform(self)
        case (.rgb, .rgb), (.rgb, .gray):
            // A grey picture may have a camera's profile: its grey is that profile's.
            return ownTransform(MatrixShaper.init) ?? LittleCMSTransform(self) ?? MatrixShaper(self)
        case (.gray, .gray):
            return ownTransform(ToneMap.init) ?? LittleCMSTransform(self).map(ToneMap.init(graysBy:)) ?? ToneMap(self)
        default:
            return nil
        }
    }

    /// Curves and lights only count where there are no tables, which are finer.
    private func ownTransform<Transform: ColorTransform>(_ make: (ColorProfile) -> Transform?) -> Transform? {
        hasTag(.perceptualTable) ? nil : make(self)
    }
}

extension ColorTransform {
    /// Whether no colour moves by more than a level: the transform is from one of the many spellings of sRGB, and applying
    /// it would only cost time and add rounding.
    fileprivate var changesNothingVisible: Bool {
        var converted = telltaleColors
        convert(telltaleColors, to: &converted, pixelCount: converted.count / 4)
        return converted.indices.allSatisfy { abs(Int(converted[$0]) - Int(telltaleColors[$0])) <= 1 }
    }
}

/// Opaque pixels: every 15th level of each channel with each other, and all greys.
private let telltaleColors: [UInt8] = {
    let levels = stride(from: UInt8(0), through: 255, by: 15)
    var colors: [UInt8] = []
    for red in levels {
        for green in levels {
            for blue in levels { colors += [red, green, blue, 255] }
        }
    }
    for gray in UInt8.min...UInt8.max { colors += [gray, gray, gray, 255] }
    return colors
}()

/// Turns pixels of one kind into sRGB. It is immutable, and any number of threads may use it at once.
protocol ColorTransform: Sendable {
    /// Converts `pixelCount` pixels of 4 bytes. `source` may be `destination`; otherwise they don't overlap.
    ///
    /// From light (``ColorModel/gray`` and ``ColorModel/rgb``, as RGBA) it reads and writes premultiplied colour and keeps
    /// alpha: colour is divided by it before and multiplied after. From ink it writes opaque pixels.
    func convert(_ source: UnsafePointer<UInt8>, to destination: UnsafeMutablePointer<UInt8>, pixelCount: Int)

    /// The memory its tables take, in bytes.
    var byteCount: Int { get }
}

/// The transforms used last, by what they start from: most pictures of a site share a profile, and setting one up takes
/// lcms2 milliseconds.
///
/// It is bounded in number and in bytes, profiles included. A profile of which nothing can be made is remembered as well.
final class ColorTransformCache: Sendable {
    static let shared = ColorTransformCache()

    private let state: Lock<State>
    private let countLimit: Int
    private let byteLimit: Int

    fileprivate struct Key: Hashable {
        let encoding: ColorEncoding
        let model: ColorModel
    }

    fileprivate struct Entry {
        let transform: (any ColorTransform)?
        let cost: Int
        /// The higher, the later it was used.
        var lastUse: Int
    }

    fileprivate struct State {
        var entries: [Key: Entry] = [:]
        var cost = 0
        var useCount = 0
    }

    init(countLimit: Int = 16, byteLimit: Int = 16 << 20) {
        self.countLimit = countLimit
        self.byteLimit = byteLimit
        state = Lock(State())
    }

    /// How many it holds.
    var count: Int { state.withLock { $0.entries.count } }

    /// Whether it knows what to do with pictures of `model` from `encoding`; asking does not count as use.
    func holds(_ encoding: ColorEncoding, model: ColorModel = .rgb) -> Bool {
        state.withLock { $0.entries[Key(encoding: encoding, model: model)] != nil }
    }

    /// The transform from `encoding` for pictures of `model`; `nil` where pixels are to stay as they are.
    ///
    /// Two threads that ask for a new one at the same moment may both make it; nobody waits for another.
    func transform(from encoding: ColorEncoding, model: ColorModel) -> (any ColorTransform)? {
        let key = Key(encoding: encoding, model: model)
        let known = state.withLock { $0.use(key) }
        if let known { return known.transform }
        let transform = encoding.makeTransform(model: model)
        let cost = encoding.byteCount + (transform?.byteCount ?? 0)
        return state.withLock { state in
            state.insert(transform, cost: cost, for: key)
            state.trim(countLimit: countLimit, byteLimit: byteLimit)
            return transform
        }
    }
}

extension ColorTransformCache.State {
    mutating func use(_ key: ColorTransformCache.Key) -> ColorTransformCache.Entry? {
        guard let index = entries.index(forKey: key) else { return nil }
        useCount += 1
        entries.values[index].lastUse = useCount
        return entries.values[index]
    }

    mutating func insert(_ transform: (any ColorTransform)?, cost: Int, for key: ColorTransformCache.Key) {
        useCount += 1
        let entry = ColorTransformCache.Entry(transform: transform, cost: cost, lastUse: useCount)
        self.cost += cost - (entries.updateValue(entry, forKey: key)?.cost ?? 0)
    }

    mutating func trim(countLimit: Int, byteLimit: Int) {
        while entries.count > countLimit || cost > byteLimit,
            let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse })
        {
            cost -= oldest.value.cost
            entries[oldest.key] = nil
        }
    }
}
