internal import CWebImageKernels
internal import CWebImageLCMS
internal import Glibc
package import WebImageCore

/// The conversion of pixels with 16 bits a channel to sRGB with 8, dithered: the same for every format.
///
///     level ─ curve ─▶ light ─ HLG's system gamma ─▶ ─ tone mapping ─▶ ─ 3 × 3 ─▶ sRGB's light ─ sRGB's curve ─▶ level
///
/// Colors that sRGB does not have are clipped per channel, as in browsers, lcms2, and ``ColorConversion``.
/// HDR is mapped with the curve of ITU-R BT.2390-11, 5.4: content for ``HDR/peakLuminance`` is shown as on a display
/// whose white is ``HDR/whiteLuminance``. Profiles with color tables are converted by lcms2.
package struct DeepColorConversion: Sendable {
    private let transform: (any DeepColorTransform)?

    package init(from encoding: ColorEncoding, model: ColorModel = .rgb) {
        transform = encoding == .sRGB && model != .cmyk ? nil : Self.transforms.transform(from: encoding, model: model)
    }

    private static let transforms = TransformCache<any DeepColorTransform>(countLimit: 8, byteLimit: 16 << 20) {
        encoding, model in
        let transform = encoding.makeDeepTransform(model: model)
        return (transform, transform?.byteCount ?? 0)
    }

    /// Whether colors stay as they are.
    var isIdentity: Bool { transform == nil }

    /// Converts all rows of straight RGBA, or of inverted CMYK, with native byte order.
    ///
    /// - Parameter bytesPerRow: the distance between two rows of `source`, in bytes.
    package func pixels(
        from source: UnsafeRawPointer, bytesPerRow: Int, size: PixelSize, cancellation: Cancellation?
    ) throws(WebImageError) -> PixelBuffer {
        let output = try MutablePixelBuffer(width: size.width, height: size.height)
        let (stride, start) = (output.bytesPerRow, output.baseAddress.assumingMemoryBound(to: UInt8.self))
        var isOpaque = true
        try size.forEachRowBatch(cancellation: cancellation) { rows in
            for row in rows {
                let line = (source + row * bytesPerRow).assumingMemoryBound(to: UInt16.self)
                isOpaque = convert(line, to: start + row * stride, count: size.width, row: row) && isOpaque
            }
        }
        return output.freeze(isOpaque: isOpaque)
    }

    /// Converts a row to premultiplied RGBA, and returns whether it is opaque.
    ///
    /// - Parameter row: its number in the image, on which dithering depends.
    func convert(
        _ source: UnsafePointer<UInt16>, to destination: UnsafeMutablePointer<UInt8>, count: Int, row: Int
    ) -> Bool {
        guard let transform else { return cwi_convert_deep(source, destination, count, row, nil) }
        return transform.convert(source, to: destination, count: count, row: row)
    }
}

/// Converts pixels of 16 bits to sRGB with 8. Immutable and thread-safe.
protocol DeepColorTransform: Sendable {
    /// See ``DeepColorConversion/convert(_:to:count:row:)``.
    func convert(
        _ source: UnsafePointer<UInt16>, to destination: UnsafeMutablePointer<UInt8>, count: Int, row: Int
    ) -> Bool

    /// The memory of its tables, in bytes.
    var byteCount: Int { get }
}

/// Curves and a matrix in tables, 256 KiB each.
private final class DeepTables: DeepColorTransform, @unchecked Sendable {
    // `@unchecked`: the tables are not written after `init`.
    private let memory: UnsafeMutablePointer<Float>
    let byteCount: Int
    private let conversion: cwi_deep_conversion

    /// - Parameters:
    ///   - curves: to light, for red, green and blue, or one for all.
    ///   - toneGain: see ``HDR/toneGain(ofLight:)``; `systemGain` likewise.
    private init(
        curves: [(Double) -> Double], matrix: ColorMatrix, toneGain: ((Double) -> Double)? = nil,
        systemGain: ((Double) -> Double)? = nil
    ) {
        let functions = curves + [toneGain, systemGain].compactMap(\.self)
        let memory = UnsafeMutablePointer<Float>.allocate(capacity: functions.count * Self.count)
        byteCount = functions.count * Self.count * MemoryLayout<Float>.stride
        for (index, function) in functions.enumerated() {
            for level in 0..<Self.count {
                memory[index * Self.count + level] = Float(function(Double(level) / Double(Self.count - 1)))
            }
        }
        func table(_ index: Int) -> UnsafePointer<Float>? { UnsafePointer(memory + index * Self.count) }
        let columns = matrix.columns
        func row(_ index: Int) -> (Float, Float, Float) {
            (Float(columns.0[index]), Float(columns.1[index]), Float(columns.2[index]))
        }
        let (red, green, blue) = (row(0), row(1), row(2))
        let last = curves.count - 1
        conversion = cwi_deep_conversion(
            light: (table(0), table(min(1, last)), table(min(2, last))),
            system_gain: systemGain == nil ? nil : table(curves.count + 1),
            // The luminance of BT.2020's primaries (BT.2100, table 5).
            luminance: (0.2627, 0.678, 0.0593), tone_gain: toneGain == nil ? nil : table(curves.count),
            matrix: (red.0, red.1, red.2, green.0, green.1, green.2, blue.0, blue.1, blue.2), encoded: Self.encoded)
        self.memory = memory
    }

    /// - Parameters:
    ///   - curves: for red, green and blue, or one for all; ignored for HDR.
    ///   - matrix: from light to XYZ under D50.
    convenience init?(curves: [ToneCurve], matrix: ColorMatrix, hdr: HDR? = nil) {
        guard let matrix = Self.fromConnectionSpace.map({ $0 * matrix }), matrix.isFinite else { return nil }
        guard let hdr else {
            self.init(curves: curves.map { curve in { curve.light(of: $0) } }, matrix: matrix)
            return
        }
        self.init(
            curves: [{ hdr.light(of: $0) }], matrix: matrix, toneGain: { hdr.toneGain(ofLight: $0) },
            systemGain: hdr == .hlg ? { hdr.systemGain(ofLuminance: $0) } : nil)
    }

    /// - Parameter curve: from a component to sRGB's light, for each channel by itself.
    convenience init(curve: @escaping (Double) -> Double) {
        self.init(curves: [curve], matrix: ColorMatrix(diagonal: [1, 1, 1]))
    }

    deinit { memory.deallocate() }

    func convert(
        _ source: UnsafePointer<UInt16>, to destination: UnsafeMutablePointer<UInt8>, count: Int, row: Int
    ) -> Bool {
        withUnsafePointer(to: conversion) { cwi_convert_deep(source, destination, count, row, $0) }
    }

    private static let count = 65_536

    /// sRGB's level for each light; never freed.
    private nonisolated(unsafe) static let encoded: UnsafePointer<UInt16> = {
        let table = UnsafeMutablePointer<UInt16>.allocate(capacity: count)
        for index in 0..<count {
            let level = SRGB.encoded(Double(index) / Double(count - 1)) * Double(count - 1)
            table[index] = UInt16(level.rounded())
        }
        return UnsafePointer(table)
    }()

    private static let fromConnectionSpace = ColorPrimaries.sRGB.matrixToConnectionSpace?.inverse
}

/// Converts with lcms2: profiles with color tables, and CMYK. See ``LittleCMSTransform``.
private final class DeepLittleCMSTransform: DeepColorTransform, @unchecked Sendable {
    // `@unchecked`: without its cache, lcms2 does not write to a transform.
    private let transform: cmsHTRANSFORM
    private let isInk: Bool
    let byteCount = LittleCMSTransform.estimatedByteCount

    init?(_ profile: ColorProfile) {
        let layout =
            switch profile.model {
            case .gray: cwi_lcms_deep_gray_and_three_more
            case .rgb: cwi_lcms_deep_rgb_and_alpha
            case .cmyk: cwi_lcms_deep_inverted_cmyk
            }
        guard
            let transform = LittleCMSTransform.makeTransform(
                from: profile, layout: layout, to: cwi_lcms_deep_rgb_and_alpha, isExact: profile.model == .gray)
        else { return nil }
        self.transform = transform
        isInk = profile.model == .cmyk
    }

    deinit { cmsDeleteTransform(transform) }

    func convert(
        _ source: UnsafePointer<UInt16>, to destination: UnsafeMutablePointer<UInt8>, count: Int, row: Int
    ) -> Bool {
        deepBatches(source, to: destination, count: count, row: row) { pixels, count in
            cmsDoTransform(transform, pixels, pixels, cmsUInt32Number(count))
            if isInk { for index in 0..<count { pixels[index * 4 + 3] = .max } }
        }
    }
}

/// Converts inverted CMYK by the rule that each ink absorbs its light.
private struct DeepInkTransform: DeepColorTransform {
    let byteCount = 0

    func convert(
        _ source: UnsafePointer<UInt16>, to destination: UnsafeMutablePointer<UInt8>, count: Int, row: Int
    ) -> Bool {
        deepBatches(source, to: destination, count: count, row: row) { pixels, count in
            for index in 0..<count {
                let pixel = pixels + index * 4
                for channel in 0..<3 {
                    pixel[channel] = UInt16((UInt32(pixel[channel]) * UInt32(pixel[3]) + 32_767) / 65_535)
                }
                pixel[3] = .max
            }
        }
    }
}

/// Calls `change` with copies of pixels, which it changes to straight sRGB, and dithers them.
private func deepBatches(
    _ source: UnsafePointer<UInt16>, to destination: UnsafeMutablePointer<UInt8>, count: Int, row: Int,
    _ change: (UnsafeMutablePointer<UInt16>, Int) -> Void
) -> Bool {
    // A multiple of the dither pattern's width.
    let batchSize = 1 << 10
    return withUnsafeTemporaryAllocation(of: UInt16.self, capacity: batchSize * 4) { memory in
        guard let pixels = memory.baseAddress else { return false }
        var isOpaque = true
        for first in stride(from: 0, to: count, by: batchSize) {
            let batch = min(batchSize, count - first)
            pixels.update(from: source + first * 4, count: batch * 4)
            change(pixels, batch)
            if !cwi_convert_deep(pixels, destination + first * 4, batch, row, nil) { isOpaque = false }
        }
        return isOpaque
    }
}

extension ColorEncoding {
    fileprivate func makeDeepTransform(model: ColorModel) -> (any DeepColorTransform)? {
        if case .hdr(let primaries, let hdr) = self {
            return primaries.matrixToConnectionSpace.flatMap { DeepTables(curves: [], matrix: $0, hdr: hdr) }
        }
        if model == .cmyk { return inkTransform ?? DeepInkTransform() }
        // An encoding whose conversion changes nothing with 8 bits counts as sRGB.
        guard ColorConversion.transforms.transform(from: self, model: model) != nil else { return nil }
        switch self {
        case .sRGB, .hdr: return nil
        case .gamma(let gamma): return DeepTables { ToneCurve.sRGB.light(of: pow($0, 1 / (gamma * 2.2))) }
        case .primaries(let primaries, let curve):
            return primaries.matrixToConnectionSpace.flatMap { DeepTables(curves: [curve], matrix: $0) }
        case .profile(let profile): return profile.makeDeepTransform(model: model)
        }
    }

    private var inkTransform: (any DeepColorTransform)? {
        guard case .profile(let profile) = self, profile.model == .cmyk else { return nil }
        return DeepLittleCMSTransform(profile)
    }
}

extension ColorProfile {
    /// Chooses as for 8 bits.
    fileprivate func makeDeepTransform(model: ColorModel) -> (any DeepColorTransform)? {
        let own: DeepTables? =
            if self.model == .gray {
                grayCurve.map { curve in DeepTables { curve.light(of: $0) } }
            } else {
                MatrixShaper.curvesAndMatrix(of: self).flatMap { DeepTables(curves: $0.curves, matrix: $0.matrix) }
            }
        return hasTag(.perceptualTable) ? DeepLittleCMSTransform(self) ?? own : own ?? DeepLittleCMSTransform(self)
    }
}
