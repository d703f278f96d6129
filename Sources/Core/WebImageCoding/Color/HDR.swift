internal import CWebImageKernels
internal import Glibc

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
