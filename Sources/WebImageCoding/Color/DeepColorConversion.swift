internal import CWebImageKernels
internal import Glibc
package import WebImageCore

/// The conversion of pixels with 16 bits a channel to sRGB with 8, dithered.
///
///     level ─ curve ─▶ light ─ HLG's system gamma ─▶ ─ tone mapping ─▶ ─ 3 × 3 ─▶ sRGB's light ─ sRGB's curve ─▶ level
///
/// Colors that sRGB does not have move toward the gray of their luminance, so that different ones stay different.
/// HDR is mapped with the curve of ITU-R BT.2390-11, 5.4: content for ``HDR/peakLuminance`` is shown as on a display
/// whose white is ``HDR/whiteLuminance``.
package struct DeepColorConversion: Sendable {
    private let tables: Tables?
    /// What remains to be converted with 8 bits: profiles with color tables, and gamma.
    package let rest: ColorConversion

    package init(from encoding: ColorEncoding, model: ColorModel = .rgb) {
        tables = DeepTableCache.shared.tables(for: encoding, model: model)
        rest = tables == nil ? ColorConversion(from: encoding, model: model) : .none
    }

    /// Converts all rows of straight RGBA with native byte order.
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

    fileprivate func convert(
        _ source: UnsafePointer<UInt16>, to destination: UnsafeMutablePointer<UInt8>, count: Int, row: Int
    ) -> Bool {
        guard let tables else { return cwi_convert_deep(source, destination, count, row, nil) }
        return tables.convert(source, to: destination, count: count, row: row)
    }
}

/// HDR with the transfer functions of ITU-R BT.2100.
package enum HDR: Sendable, Hashable {
    /// Perceptual quantization (SMPTE ST 2084).
    case pq
    /// Hybrid log-gamma.
    case hlg

    /// The brightest light of the content, in cd/m². Few files tell; 1,000 is what most are graded for, and HLG's
    /// nominal peak (BT.2100, table 5).
    static let peakLuminance = 1000.0
    /// The luminance of white in HDR (ITU-R BT.2408, 2.1), which becomes sRGB's white.
    static let whiteLuminance = 203.0

    /// Light from 0 to 1: 1 is 10,000 cd/m² of PQ, and the peak of the scene for HLG.
    func light(of level: Double) -> Double {
        switch self {
        case .pq: Self.pqLuminance(of: level)
        case .hlg: level <= 0.5 ? level * level / 3 : (exp((level - Self.c) / Self.a) + Self.b) / 12
        }
    }

    /// The light that 1 stands for on the display, in cd/m².
    private var fullLuminance: Double { self == .pq ? 10_000 : Self.peakLuminance }

    /// HLG's system gamma for a display of 1,000 cd/m² (BT.2100, table 5): light is multiplied by the luminance to the
    /// power of 0.2.
    func systemGain(ofLuminance luminance: Double) -> Double { self == .pq ? 1 : pow(luminance, 0.2) }

    /// The factor for a pixel whose brightest channel has this light. Afterwards 1 is sRGB's white.
    func toneGain(ofLight light: Double) -> Double {
        guard light > 0 else { return fullLuminance / Self.whiteLuminance }
        let luminance = min(light * fullLuminance, Self.peakLuminance)
        let mapped = Self.pqLuminance(of: Self.toneMapped(Self.pqLevel(of: luminance / 10_000))) * 10_000
        return mapped / Self.whiteLuminance / light
    }

    /// The curve of BT.2390-11, 5.4.1: levels of PQ up to the knee stay, those above follow a Hermite spline.
    private static func toneMapped(_ level: Double) -> Double {
        let peak = pqLevel(of: peakLuminance / 10_000)
        let limit = pqLevel(of: whiteLuminance / 10_000) / peak
        let knee = 1.5 * limit - 0.5
        let position = level / peak
        guard position > knee else { return level }
        let t = (position - knee) / (1 - knee)
        let (t2, t3) = (t * t, t * t * t)
        let start = (2 * t3 - 3 * t2 + 1) * knee
        let slope = (t3 - 2 * t2 + t) * (1 - knee)
        let end = (3 * t2 - 2 * t3) * limit
        return (start + slope + end) * peak
    }

    /// SMPTE ST 2084's EOTF; 1 is 10,000 cd/m².
    private static func pqLuminance(of level: Double) -> Double {
        let power = pow(level, 1 / m2)
        return pow(max(power - c1, 0) / (c2 - c3 * power), 1 / m1)
    }

    private static func pqLevel(of luminance: Double) -> Double {
        let power = pow(luminance, m1)
        return pow((c1 + c2 * power) / (1 + c3 * power), m2)
    }

    // BT.2100, table 4.
    private static let (m1, m2) = (2610.0 / 16384, 2523.0 / 4096 * 128)
    private static let (c1, c2, c3) = (3424.0 / 4096, 2413.0 / 4096 * 32, 2392.0 / 4096 * 32)
    // BT.2100, table 5.
    private static let (a, b, c) = (0.17883277, 0.28466892, 0.55991073)
}

/// The tables of a conversion, 256 KiB each.
private final class Tables: @unchecked Sendable {
    // `@unchecked`: the tables are not written after `init`.
    private let memory: UnsafeMutablePointer<Float>
    private let conversion: cwi_deep_conversion

    /// - Parameters:
    ///   - curves: for red, green and blue, or one for all; ignored for HDR.
    ///   - matrix: from light to XYZ under D50.
    init?(curves: [ToneCurve], matrix: ColorMatrix, hdr: HDR? = nil) {
        guard let matrix = Self.fromConnectionSpace.map({ $0 * matrix }), matrix.isFinite else { return nil }
        var functions: [(Double) -> Double] = curves.map { curve in { curve.light(of: $0) } }
        if let hdr {
            functions = [{ hdr.light(of: $0) }, { hdr.toneGain(ofLight: $0) }, { hdr.systemGain(ofLuminance: $0) }]
        }
        let memory = UnsafeMutablePointer<Float>.allocate(capacity: functions.count * Self.count)
        for (index, function) in functions.enumerated() {
            for level in 0..<Self.count {
                memory[index * Self.count + level] = Float(function(Double(level) / Double(Self.count - 1)))
            }
        }
        func table(_ index: Int) -> UnsafePointer<Float>? { UnsafePointer(memory + index * Self.count) }
        let isSeparate = hdr == nil && functions.count > 1
        let columns = matrix.columns
        func row(_ index: Int) -> (Float, Float, Float) {
            (Float(columns.0[index]), Float(columns.1[index]), Float(columns.2[index]))
        }
        let (red, green, blue) = (row(0), row(1), row(2))
        conversion = cwi_deep_conversion(
            light: (table(0), table(isSeparate ? 1 : 0), table(isSeparate ? 2 : 0)),
            system_gain: hdr == .hlg ? table(2) : nil,
            // The luminance of BT.2020's primaries (BT.2100, table 5).
            luminance: (0.2627, 0.678, 0.0593), tone_gain: hdr == nil ? nil : table(1),
            matrix: (red.0, red.1, red.2, green.0, green.1, green.2, blue.0, blue.1, blue.2), encoded: Self.encoded)
        self.memory = memory
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

/// The tables that were used last: making them takes milliseconds.
private final class DeepTableCache: Sendable {
    static let shared = DeepTableCache()

    private struct Key: Hashable {
        let encoding: ColorEncoding
        let model: ColorModel
    }

    private let entries = Lock<[(key: Key, tables: Tables?)]>([])
    private static let countLimit = 8

    /// `nil` if there is nothing to convert, or not with tables.
    func tables(for encoding: ColorEncoding, model: ColorModel) -> Tables? {
        guard encoding != .sRGB else { return nil }
        let key = Key(encoding: encoding, model: model)
        let known = entries.withLock { entries -> (key: Key, tables: Tables?)? in
            guard let index = entries.firstIndex(where: { $0.key == key }) else { return nil }
            let entry = entries.remove(at: index)
            entries.append(entry)
            return entry
        }
        if let known { return known.tables }
        let tables = encoding.deepTables(model: model)
        entries.withLock { entries in
            entries.append((key, tables))
            if entries.count > Self.countLimit { entries.removeFirst() }
        }
        return tables
    }
}

extension ColorEncoding {
    fileprivate func deepTables(model: ColorModel) -> Tables? {
        switch self {
        case .sRGB, .gamma: return nil
        case .primaries(let primaries, let curve):
            return primaries.matrixToConnectionSpace.flatMap { Tables(curves: [curve], matrix: $0) }
        case .hdr(let primaries, let hdr):
            return primaries.matrixToConnectionSpace.flatMap { Tables(curves: [], matrix: $0, hdr: hdr) }
        case .profile(let profile):
            guard model == .rgb, profile.model == .rgb, !profile.hasTag(.perceptualTable),
                let (curves, matrix) = MatrixShaper.curvesAndMatrix(of: profile)
            else { return nil }
            return Tables(curves: curves, matrix: matrix)
        }
    }
}

/// Converts 8 bits of HDR, as in a PNG, through 16.
struct HDRTransform: ColorTransform {
    private let conversion: DeepColorConversion

    init(_ primaries: ColorPrimaries, _ hdr: HDR) {
        conversion = DeepColorConversion(from: .hdr(primaries, hdr))
    }

    let byteCount = 3 << 18

    func convert(_ source: UnsafePointer<UInt8>, to destination: UnsafeMutablePointer<UInt8>, pixelCount: Int) {
        let batchSize = 1 << 12
        withUnsafeTemporaryAllocation(of: UInt16.self, capacity: batchSize * 4) { deep in
            guard let start = deep.baseAddress else { return }
            for first in stride(from: 0, to: pixelCount, by: batchSize) {
                let count = min(batchSize, pixelCount - first)
                cwi_unpremultiply(source + first * 4, destination + first * 4, count)
                for index in 0..<count * 4 { start[index] = UInt16(destination[first * 4 + index]) * 257 }
                _ = conversion.convert(start, to: destination + first * 4, count: count, row: 0)
            }
        }
    }
}
