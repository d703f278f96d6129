internal import CWebImageKernels
internal import FoundationEssentials
internal import WebImageCore

extension BMPFile {
    func pixels(
        allowsDamage: Bool, cancellation: Cancellation?
    ) throws(WebImageError) -> (pixels: PixelBuffer, damage: WebImageError?) {
        var buffer = try MutablePixelBuffer(width: size.width, height: size.height)
        let (count, isOpaque) = try data.withBytes { (bytes) throws(WebImageError) in
            compression == .none
                ? try readRows(of: bytes, into: &buffer, cancellation)
                : try readRuns(of: bytes, into: &buffer, cancellation)
        }
        guard count < size.height else { return (buffer.freeze(isOpaque: isOpaque), nil) }
        guard allowsDamage, count > 0 else { throw ImageFormat.bmp.truncated }
        let missing = isTopDown ? count..<size.height : 0..<size.height - count
        try buffer.clear(rows: missing, cancellation: cancellation)
        return (buffer.freeze(isOpaque: false), ImageFormat.bmp.truncated)
    }

    // MARK: Rows

    /// Rows are padded to four bytes.
    private var rowByteCount: Int { (size.width * bitsPerPixel + 31) / 32 * 4 }
    private var maskRowByteCount: Int { (size.width + 31) / 32 * 4 }

    var hasSeparateRows: Bool { compression == .none }

    func pixels(
        resampledTo targetSize: PixelSize, cancellation: Cancellation?
    ) throws(WebImageError) -> PixelBuffer? {
        try data.withBytes { (bytes) throws(WebImageError) in
            let reader = rowReader(of: bytes)
            return try StreamedRows.pixels(of: size, resampledTo: targetSize, cancellation: cancellation) {
                (row, pixels) in
                reader.read(row, pixels)
            }
        }
    }

    private func readRows(
        of bytes: UnsafeRawBufferPointer, into buffer: inout MutablePixelBuffer, _ cancellation: Cancellation?
    ) throws(WebImageError) -> (count: Int, isOpaque: Bool) {
        let rows = isTopDown ? Array(0..<size.height) : Array((0..<size.height).reversed())
        let reader = rowReader(of: bytes)
        return try buffer.fillRows(rows, hasAlpha: reader.hasAlpha, cancellation: cancellation) { (row, pixels) in
            reader.read(row, pixels)
        }
    }

    /// Returns what reads a row of the image, and `false` if the file ends before it.
    private func rowReader(
        of bytes: UnsafeRawBufferPointer
    ) -> (hasAlpha: Bool, read: (_ row: Int, _ pixels: UnsafeMutablePointer<UInt8>) -> Bool) {
        let rowByteCount = rowByteCount
        // Many programs write pixels with an alpha of 0 that should be opaque.
        let usesAlpha = hasAlpha && bitsPerPixel >= 16 && hasVisiblePixels(bytes)
        let mask = isIcon && !usesAlpha ? pixelOffset + rowByteCount * size.height : nil
        let table = palette + Array(repeating: SIMD4<UInt8>(0, 0, 0, 255), count: 256 - min(256, palette.count))
        return (
            usesAlpha || mask != nil,
            { row, pixels in
                let stored = isTopDown ? row : size.height - 1 - row
                let begin = pixelOffset + stored * rowByteCount
                guard begin <= bytes.count - rowByteCount else { return false }
                let row = UnsafeRawBufferPointer(rebasing: bytes[begin..<begin + rowByteCount])
                let output = UnsafeMutableRawPointer(pixels)
                switch bitsPerPixel {
                case 16: readPixels(row, 2, usesAlpha, to: output)
                case 24: readPixels(row, 3, usesAlpha, to: output)
                case 32: readPixels(row, 4, usesAlpha, to: output)
                default: readIndices(row, table, to: output)
                }
                if let mask { apply(mask + stored * maskRowByteCount, of: bytes, to: pixels) }
                return true
            }
        )
    }

    private func readIndices(
        _ row: UnsafeRawBufferPointer, _ table: [SIMD4<UInt8>], to output: UnsafeMutableRawPointer
    ) {
        let perByte = 8 / bitsPerPixel
        let mask = UInt8(truncatingIfNeeded: 1 << bitsPerPixel - 1)
        for column in 0..<size.width {
            let shift = 8 - bitsPerPixel * (column % perByte + 1)
            let index = Int(row[column / perByte] >> UInt8(shift) & mask)
            output.storeBytes(of: table[index], toByteOffset: column * 4, as: SIMD4<UInt8>.self)
        }
    }

    private func readPixels(
        _ row: UnsafeRawBufferPointer, _ byteCount: Int, _ usesAlpha: Bool, to output: UnsafeMutableRawPointer
    ) {
        let areBytes = byteCount == 3 || byteCount == 4 && channels.areBytes
        for column in 0..<size.width {
            let offset = column * byteCount
            let pixel: SIMD4<UInt8>
            if areBytes {
                pixel = SIMD4(row[offset + 2], row[offset + 1], row[offset], usesAlpha ? row[offset + 3] : 255)
            } else {
                let bits = self.bits(row, at: offset, byteCount)
                pixel = SIMD4(
                    channels.red.byte(of: bits), channels.green.byte(of: bits), channels.blue.byte(of: bits),
                    usesAlpha ? channels.alpha.byte(of: bits) : 255)
            }
            output.storeBytes(of: pixel, toByteOffset: column * 4, as: SIMD4<UInt8>.self)
        }
    }

    private func bits(_ row: UnsafeRawBufferPointer, at offset: Int, _ byteCount: Int) -> UInt32 {
        var bits: UInt32 = 0
        for index in 0..<byteCount { bits |= UInt32(row[offset + index]) << UInt32(index * 8) }
        return bits
    }

    /// Whether any pixel has an alpha above 0.
    private func hasVisiblePixels(_ bytes: UnsafeRawBufferPointer) -> Bool {
        // An icon's bitmap has no masks, and alpha in the fourth byte.
        let mask = isIcon && channels.alpha.mask == 0 ? 0xFF00_0000 : channels.alpha.mask
        guard mask != 0, bitsPerPixel != 24 else { return false }
        let byteCount = bitsPerPixel / 8
        for row in 0..<size.height {
            let begin = pixelOffset + row * rowByteCount
            guard begin <= bytes.count - rowByteCount else { return false }
            for column in 0..<size.width where bits(bytes, at: begin + column * byteCount, byteCount) & mask != 0 {
                return true
            }
        }
        return false
    }

    /// Makes the pixels transparent whose bits are set in a row of an icon's mask. Without it they are opaque.
    private func apply(_ offset: Int, of bytes: UnsafeRawBufferPointer, to pixels: UnsafeMutablePointer<UInt8>) {
        guard offset <= bytes.count - maskRowByteCount else { return }
        for column in 0..<size.width where bytes[offset + column / 8] >> (7 - UInt8(column % 8)) & 1 == 1 {
            pixels[column * 4 + 3] = 0
        }
    }

    // MARK: Runs

    /// Reads runs from the bottom row up, or from the top row down, which the format forbids and some files have. Pixels
    /// that they skip have the first color.
    private func readRuns(
        of bytes: UnsafeRawBufferPointer, into buffer: inout MutablePixelBuffer, _ cancellation: Cancellation?
    ) throws(WebImageError) -> (count: Int, isOpaque: Bool) {
        let isNibbles = compression == .runs4
        let black = SIMD4<UInt8>(0, 0, 0, 255)
        let table = palette + Array(repeating: black, count: 256 - min(256, palette.count))
        let (width, height, stride, isTopDown) = (size.width, size.height, buffer.bytesPerRow, isTopDown)
        let output = buffer.baseAddress
        _ = try buffer.fillRows(0..<height, hasAlpha: false, cancellation: cancellation) { _, pixels in
            let row = UnsafeMutableRawPointer(pixels)
            for column in 0..<width { row.storeBytes(of: table[0], toByteOffset: column * 4, as: SIMD4<UInt8>.self) }
            return true
        }
        var (x, y, offset, stepCount) = (0, 0, pixelOffset, 0)
        func put(_ index: UInt8) {
            if x < width, y < height {
                let position = (isTopDown ? y : height - 1 - y) * stride + x * 4
                output.storeBytes(of: table[Int(index)], toByteOffset: position, as: SIMD4<UInt8>.self)
            }
            x += 1
        }
        while y < height {
            stepCount += 1
            if stepCount % 8_192 == 0 { try cancellation?.check() }
            guard offset + 2 <= bytes.count else { return (y, false) }
            let (count, value) = (bytes[offset], bytes[offset + 1])
            offset += 2
            if count > 0 {
                for index in 0..<Int(count) {
                    put(isNibbles ? (index % 2 == 0 ? value >> 4 : value & 15) : value)
                }
                continue
            }
            switch value {
            case 0:
                (x, y) = (0, y + 1)
            case 1:
                return (height, true)
            case 2:
                guard offset + 2 <= bytes.count else { return (y, false) }
                x += Int(bytes[offset])
                y += Int(bytes[offset + 1])
                offset += 2
            default:
                let byteCount = isNibbles ? (Int(value) + 1) / 2 : Int(value)
                guard offset + byteCount <= bytes.count else { return (y, false) }
                for index in 0..<Int(value) {
                    let byte = bytes[offset + (isNibbles ? index / 2 : index)]
                    put(isNibbles ? (index % 2 == 0 ? byte >> 4 : byte & 15) : byte)
                }
                // Padded to two bytes.
                offset += (byteCount + 1) / 2 * 2
            }
        }
        return (height, true)
    }
}
