internal import CWebImageKernels
internal import WebImageCore

/// The colors of an image that has at most 256, so that a PNG can store an index for each pixel: exact, and a third of RGB
/// before compression.
struct PNGPalette {
    /// Straight RGBA, red in the lowest byte, in the order of PLTE: those with alpha first, because tRNS ends with the last
    /// of them; otherwise by brightness, so that similar colors have similar indices.
    let colors: [UInt32]
    /// Bits of an index.
    let bitDepth: Int
    /// One for each pixel.
    private let indices: [UInt8]
    private let size: PixelSize

    /// `nil` for more colors. Transparent pixels of any color count as one.
    init?(_ pixels: PixelBuffer, cancellation: Cancellation?) throws(WebImageError) {
        let straight = pixels.isOpaque ? pixels : try pixels.straight()
        size = pixels.size
        var numbers: [UInt32: UInt8] = [:]
        var found: [UInt32] = []
        var indices = [UInt8](repeating: 0, count: size.pixelCount)
        var isFull = false
        try size.forEachRowBatch(cancellation: cancellation) { rows in
            for y in rows where !isFull {
                let row = UnsafeRawPointer(straight.row(y)).assumingMemoryBound(to: UInt32.self)
                var (last, lastNumber) = (UInt32(0), UInt8(0))
                for x in 0..<pixels.width {
                    var color = UInt32(littleEndian: row[x])
                    if color >> 24 == 0 { color = 0 }
                    if color != last || found.isEmpty || x == 0 {
                        guard let number = numbers[color] ?? Self.add(color, &numbers, &found) else {
                            isFull = true
                            return
                        }
                        (last, lastNumber) = (color, number)
                    }
                    indices[y * pixels.width + x] = lastNumber
                }
            }
        }
        if isFull { return nil }
        let order = found.indices.sorted { Self.key(found[$0]) < Self.key(found[$1]) }
        var places = [UInt8](repeating: 0, count: found.count)
        for (place, index) in order.enumerated() { places[index] = UInt8(place) }
        for index in indices.indices { indices[index] = places[Int(indices[index])] }
        self.indices = indices
        colors = order.map { found[$0] }
        bitDepth = found.count <= 2 ? 1 : found.count <= 4 ? 2 : found.count <= 16 ? 4 : 8
    }

    private static func add(_ color: UInt32, _ numbers: inout [UInt32: UInt8], _ found: inout [UInt32]) -> UInt8? {
        guard found.count < 256 else { return nil }
        let number = UInt8(found.count)
        numbers[color] = number
        found.append(color)
        return number
    }

    private static func key(_ color: UInt32) -> UInt64 {
        let light = (color & 0xFF) * 2 + (color >> 8 & 0xFF) * 5 + (color >> 16 & 0xFF)
        return UInt64(color >> 24 == 0xFF ? 1 : 0) << 48 | UInt64(light) << 32 | UInt64(color)
    }

    /// The content of PLTE.
    var content: [UInt8] {
        colors.flatMap { color in (0..<3).map { UInt8(truncatingIfNeeded: color >> (8 * UInt32($0))) } }
    }

    /// The content of tRNS; empty if all colors are opaque.
    var transparency: [UInt8] { colors.map { UInt8($0 >> 24) }.prefix { $0 < 255 } }

    /// The rows of whole bytes, each behind the number of the filter that leaves the smallest differences: those of smooth gradients are shorter
    /// than without; `nil` for packed indices, whose differences are no smaller.
    var filteredRows: [UInt8]? {
        guard bitDepth == 8 else { return nil }
        var filtered = [UInt8](repeating: 0, count: (size.width + 1) * size.height)
        // The row above the first, and the kernel's scratch space.
        let blank = [UInt8](repeating: 0, count: size.width)
        var scratch = blank
        filtered.withUnsafeMutableBufferPointer { output in
            indices.withUnsafeBufferPointer { indices in
                blank.withUnsafeBufferPointer { blank in
                    guard let output = output.baseAddress, let first = indices.baseAddress,
                        let blank = blank.baseAddress
                    else { return }
                    for y in 0..<size.height {
                        let row = first + y * size.width
                        cwi_png_filter(
                            row, y == 0 ? blank : row - size.width, output + y * (size.width + 1), &scratch, size.width,
                            1)
                    }
                }
            }
        }
        return filtered
    }

    /// Rows of packed indices, each behind the filter's number 0.
    var rows: [UInt8] {
        let perByte = 8 / bitDepth
        let rowByteCount = (size.width + perByte - 1) / perByte + 1
        var rows = [UInt8](repeating: 0, count: rowByteCount * size.height)
        for y in 0..<size.height {
            for x in 0..<size.width {
                let shift = 8 - bitDepth * (x % perByte + 1)
                rows[y * rowByteCount + 1 + x / perByte] |= indices[y * size.width + x] << UInt8(shift)
            }
        }
        return rows
    }
}
