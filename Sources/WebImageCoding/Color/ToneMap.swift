internal import CWebImageKernels
internal import Glibc

/// A table of bytes for each of red, green and blue: grey profiles, and a PNG's gamma.
struct ToneMap: ColorTransform {
    /// 256 bytes for each channel.
    private let tables: [UInt8]

    /// - Parameter component: what becomes of a component from 0 to 1, whichever it is.
    init(_ component: (Double) -> Double) {
        let table = (0...255).map { UInt8((min(max(component(Double($0) / 255), 0), 1) * 255).rounded()) }
        tables = table + table + table
    }

    /// For grey pixels, what `transform` makes of each grey; it may be a tint.
    init(graysBy transform: some ColorTransform) {
        var pixels = (UInt8.min...UInt8.max).flatMap { [$0, $0, $0, 255] as [UInt8] }
        pixels.withUnsafeMutableBufferPointer { pixels in
            guard let start = pixels.baseAddress else { return }
            transform.convert(start, to: start, pixelCount: pixels.count / 4)
        }
        tables = (0..<3).flatMap { channel in (0...255).map { pixels[$0 * 4 + channel] } }
    }

    /// Grey whose curve leads to light; `nil` for profiles with other means.
    init?(_ profile: ColorProfile) {
        guard profile.model == .gray, profile.connectionSpace == .xyz,
            let curve = profile.withTag(.grayCurve, { ToneCurve(tag: $0) })
        else { return nil }
        self.init { SRGB.encoded(curve.light(of: $0)) }
    }

    /// A file's gamma, shown on a display whose exponent is 2.2, which is what browsers do with one that stands alone.
    ///
    /// `nil` where the two cancel out within 5 %, as libpng has it, and for a gamma that no file can mean.
    init?(fileGamma gamma: Double) {
        guard gamma > 0.01, gamma < 100 else { return nil }
        let exponent = 1 / (gamma * 2.2)
        guard abs(exponent - 1) > 0.05 else { return nil }
        self.init { pow($0, exponent) }
    }

    var byteCount: Int { tables.count }

    func convert(_ source: UnsafePointer<UInt8>, to destination: UnsafeMutablePointer<UInt8>, pixelCount: Int) {
        tables.withUnsafeBufferPointer { cwi_map_tones(source, destination, pixelCount, $0.baseAddress) }
    }
}
