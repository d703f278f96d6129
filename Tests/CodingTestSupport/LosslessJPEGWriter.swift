package import Foundation

/// Writes lossless JPEG (ITU-T T.81, annex H) with one Huffman table, whose codes are all as long.
package struct LosslessJPEGWriter {
    package var width: Int
    package var height: Int
    package var bits: Int
    package var components: Int
    package var predictor = 1
    /// By how many bits samples are shifted to the right.
    package var shift = 0
    /// The rows between two restart markers; 0 for none.
    package var restartRows = 0
    package var isInterleaved = true

    package init(
        width: Int, height: Int, bits: Int, components: Int, predictor: Int = 1, shift: Int = 0, restartRows: Int = 0,
        isInterleaved: Bool = true
    ) {
        (self.width, self.height, self.bits, self.components) = (width, height, bits, components)
        (self.predictor, self.shift, self.restartRows) = (predictor, shift, restartRows)
        self.isInterleaved = isInterleaved
    }

    /// - Parameter sample: for x, y and the component.
    package func data(_ sample: (Int, Int, Int) -> Int) -> Data {
        var file: [UInt8] = [0xFF, 0xD8]
        func segment(_ marker: UInt8, _ content: [UInt8]) {
            file += [0xFF, marker, UInt8((content.count + 2) >> 8), UInt8((content.count + 2) & 255)] + content
        }
        let sides = [UInt8(height >> 8), UInt8(height & 255), UInt8(width >> 8), UInt8(width & 255)]
        segment(0xC3, [UInt8(bits)] + sides + [UInt8(components)] + (0..<components).flatMap { [UInt8($0), 0x11, 0] })
        // 17 codes of five bits, for the lengths of differences.
        segment(0xC4, [0, 0, 0, 0, 0, 17] + Array(repeating: 0, count: 11) + Array(0...16))
        let interval = restartRows * width
        if interval > 0 { segment(0xDD, [UInt8(interval >> 8), UInt8(interval & 255)]) }
        let scans = isInterleaved ? [Array(0..<components)] : (0..<components).map { [$0] }
        for scan in scans {
            segment(
                0xDA,
                [UInt8(scan.count)] + scan.flatMap { [UInt8($0), 0] } + [UInt8(predictor), 0, UInt8(shift)])
            file += codes(of: scan) { sample($0, $1, $2) >> shift }
        }
        return Data(file + [0xFF, 0xD9])
    }

    private func codes(of scan: [Int], _ sample: (Int, Int, Int) -> Int) -> [UInt8] {
        var (bytes, byte, filled): ([UInt8], UInt8, Int) = ([], 0, 0)
        func put(_ value: Int, _ count: Int) {
            for bit in (0..<count).reversed() {
                byte = byte << 1 | UInt8(value >> bit & 1)
                filled += 1
                guard filled == 8 else { continue }
                bytes += byte == 255 ? [255, 0] : [byte]
                (byte, filled) = (0, 0)
            }
        }
        for y in 0..<height {
            let isFirst = restartRows > 0 ? y % restartRows == 0 : y == 0
            if isFirst, y > 0 {
                while filled > 0 { put(1, 1) }
                bytes += [0xFF, 0xD0 + UInt8((y / restartRows - 1) % 8)]
            }
            for x in 0..<width {
                for component in scan {
                    var difference = sample(x, y, component) - prediction(x, y, component, isFirst, sample)
                    difference = (difference + 32768) & 65535 - 32768
                    if difference == -32768 { difference = 32768 }
                    let length = abs(difference).bitWidth - abs(difference).leadingZeroBitCount
                    put(length, 5)
                    if length < 16 { put(difference < 0 ? difference + 1 << length - 1 : difference, length) }
                }
            }
        }
        while filled > 0 { put(1, 1) }
        return bytes
    }

    private func prediction(
        _ x: Int, _ y: Int, _ component: Int, _ isFirstRow: Bool, _ sample: (Int, Int, Int) -> Int
    ) -> Int {
        if isFirstRow { return x == 0 ? 1 << (bits - shift - 1) : sample(x - 1, y, component) }
        let above = sample(x, y - 1, component)
        if x == 0 { return above }
        let (left, corner) = (sample(x - 1, y, component), sample(x - 1, y - 1, component))
        switch predictor {
        case 1: return left
        case 2: return above
        case 3: return corner
        case 4: return left + above - corner
        case 5: return left + (above - corner) >> 1
        case 6: return above + (left - corner) >> 1
        default: return (left + above) >> 1
        }
    }
}
