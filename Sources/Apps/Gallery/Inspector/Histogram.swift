import FoundationEssentials
import WebImageGTK

/// How many pixels of an image have each brightness, by channel and in total.
struct Histogram: Sendable, Equatable {
    enum Channel: Int, CaseIterable, Sendable {
        case red, green, blue, luminance
    }

    /// By channel, then by brightness from 0 to 255.
    private var counts = Array(repeating: [Int](repeating: 0, count: 256), count: 4)
    private(set) var pixelCount = 0

    /// More pixels take longer, and look the same: of larger images, some are left out.
    private static let pixelLimit = 1 << 18

    /// Counts the pixels that are not transparent. Blocks the thread.
    init(of pixels: PixelBuffer) {
        let step = max(1, Int((Double(pixels.width * pixels.height) / Double(Self.pixelLimit)).squareRoot()))
        var (red, green, blue, luminance) = (counts[0], counts[1], counts[2], counts[3])
        pixels.withUnsafeBytes { bytes in
            for y in stride(from: 0, to: pixels.height, by: step) {
                let row = y * pixels.bytesPerRow
                for start in stride(from: row, to: row + pixels.width * 4, by: 4 * step) {
                    let alpha = Int(bytes[start + 3])
                    guard alpha > 0 else { continue }
                    // The bytes are premultiplied.
                    let (r, g, b) = (
                        min(255, Int(bytes[start]) * 255 / alpha), min(255, Int(bytes[start + 1]) * 255 / alpha),
                        min(255, Int(bytes[start + 2]) * 255 / alpha)
                    )
                    red[r] += 1
                    green[g] += 1
                    blue[b] += 1
                    // The weights of Rec. 709, in parts of 65,536.
                    luminance[(r * 13_933 + g * 46_871 + b * 4_732) >> 16] += 1
                    pixelCount += 1
                }
            }
        }
        counts = [red, green, blue, luminance]
    }

    subscript(channel: Channel) -> [Int] { counts[channel.rawValue] }

    /// The heights of a channel's bars from 0 to 1. The ends, where cut-off pixels gather, do not make the others small.
    func heights(of channel: Channel) -> [Double] {
        let highest = Channel.allCases.flatMap { self[$0][1..<255] }.max() ?? 0
        return self[channel].map { highest > 0 ? min(1, Double($0) / Double(highest)) : $0 > 0 ? 1 : 0 }
    }

    /// The shares of the pixels that are black and white in all channels, as far as their brightness tells.
    var cutOff: (black: Double, white: Double) {
        guard pixelCount > 0 else { return (0, 0) }
        return (
            Double(self[.luminance][0]) / Double(pixelCount), Double(self[.luminance][255]) / Double(pixelCount)
        )
    }

    /// Such as `Mean brightness 118 of 255, 0.3 % black, 2 % white`.
    var text: String {
        guard pixelCount > 0 else { return localized("The image is transparent") }
        let sum = self[.luminance].enumerated().reduce(0) { $0 + $1.offset * $1.element }
        func percent(_ share: Double) -> String { "\(Amount.decimal(share * 100)) %" }
        return localized(
            "Mean brightness {mean} of 255, {black} black, {white} white",
            ["mean": sum / pixelCount, "black": percent(cutOff.black), "white": percent(cutOff.white)])
    }
}
