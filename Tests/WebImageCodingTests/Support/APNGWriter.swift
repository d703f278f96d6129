import Foundation
import WebImageCore

@testable import WebImageCoding

/// An APNG of frames of one colour, 4 by 4 pixels large, chunk by chunk: tests take chunks out, double or change them.
struct APNGWriter {
    static let size = PixelSize(width: 4, height: 4)

    /// What stands between the header and the end.
    var chunks: [Data] = []

    private var number = 0

    /// - Parameter claimedCount: how many frames acTL says there are.
    init(claimedCount: Int, plays: Int = 0) {
        chunks.append(PNGWriter.chunk("acTL", PNGWriter.number(claimedCount) + PNGWriter.number(plays)))
    }

    /// The picture that programs without animation show.
    mutating func addStill(gray: UInt8) { chunks.append(PNGWriter.chunk("IDAT", Self.stream(gray, Self.size))) }

    /// fcTL; its number counts up unless it is given.
    mutating func addHeader(
        _ size: PixelSize = size, left: Int = 0, top: Int = 0, delay: (Int, Int) = (1, 10), disposal: UInt8 = 0,
        blend: UInt8 = 0, number: Int? = nil
    ) {
        let position = [size.width, size.height, left, top].map { PNGWriter.number($0) }.reduce(Data(), +)
        let times = PNGWriter.number(delay.0, byteCount: 2) + PNGWriter.number(delay.1, byteCount: 2)
        chunks.append(
            PNGWriter.chunk("fcTL", PNGWriter.number(number ?? next()) + position + times + [disposal, blend]))
    }

    /// fdAT.
    mutating func addData(gray: UInt8, _ size: PixelSize = size, number: Int? = nil) {
        chunks.append(PNGWriter.chunk("fdAT", PNGWriter.number(number ?? next()) + Self.stream(gray, size)))
    }

    private mutating func next() -> Int {
        number += 1
        return number - 1
    }

    var data: Data {
        PNGWriter.signature + PNGWriter.header(Self.size, color: .gray) + chunks.reduce(Data(), +)
            + PNGWriter.chunk("IEND")
    }

    private static func stream(_ gray: UInt8, _ size: PixelSize) -> Data {
        PNGWriter.compressed((0..<size.height).flatMap { _ in [0] + [UInt8](repeating: gray, count: size.width) })
    }

    /// Three frames, the first of which is the still, in a file that keeps all rules:
    ///
    ///     0 acTL   1 fcTL   2 IDAT   3 fcTL   4 fdAT   5 fcTL   6 fdAT
    static var threeFrames: APNGWriter {
        var writer = APNGWriter(claimedCount: 3, plays: 7)
        writer.addHeader()
        writer.addStill(gray: 10)
        writer.addHeader(delay: (1, 4))
        writer.addData(gray: 20)
        writer.addHeader()
        writer.addData(gray: 30)
        return writer
    }
}
