internal import CWebImageKernels
internal import Glibc

/// One table of bytes for red, green and blue alike: grey profiles, and a PNG's gamma.
struct ToneMap: ColorTransform {
    private let table: [UInt8]

    /// - Parameter component: what becomes of a component from 0 to 1.
    init(_ component: (Double) -> Double) {
        table = (0...255).map { UInt8((min(max(component(Double($0) / 255), 0), 1) * 255).rounded()) }
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

    var byteCount: Int { table.count }

    func convert(_ source: UnsafePointer<UInt8>, to destination: UnsafeMutablePointer<UInt8>, pixelCount: Int) {
        table.withUnsafeBufferPointer { cwi_map_tones(source, destination, pixelCount, $0.baseAddress) }
    }
}
