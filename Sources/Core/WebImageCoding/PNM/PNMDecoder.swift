internal import FoundationEssentials
internal import WebImageCore

/// Decodes PBM, PGM, PPM and PAM (Netpbm's manual pages), plain and raw, up to 16 bits; of several images in a file, the
/// first.
struct PNMDecoder: StillDecoder {
    init() {}

    var format: ImageFormat { .pnm }

    func file(_ data: Data, page: Int?) throws(WebImageError) -> PNMFile {
        _ = try format.page(page, of: 1)
        return try PNMFile(data)
    }
}

/// The header of a PNM file, and its bytes.
struct PNMFile: StillFile {
    let size: PixelSize
    private let channelCount: Int
    /// The sample that means full light.
    private let maximum: Int
    /// Whether samples are decimal numbers.
    private let isPlain: Bool
    /// Whether samples are bits, 1 for black.
    private let isBitmap: Bool
    private let offset: Int
    private let data: Data

    var hasAlpha: Bool { channelCount == 2 || channelCount == 4 }

    init(_ data: Data) throws(WebImageError) {
        guard data.count > 3 else { throw ImageFormat.pnm.truncated }
        let header = try data.withBytes { (bytes) throws(WebImageError) in
            var reader = PNMReader(bytes: bytes, offset: 2)
            return bytes[1] == UInt8(ascii: "7") ? try reader.namedHeader() : try reader.header(kind: bytes[1])
        }
        guard header.width > 0, header.height > 0, (1...65_535).contains(header.maximum) else {
            throw ImageFormat.pnm.corrupt("\(header.width)×\(header.height) pixels, samples up to \(header.maximum)")
        }
        size = PixelSize(width: header.width, height: header.height)
        (channelCount, maximum, offset) = (header.channelCount, header.maximum, header.offset)
        (isPlain, isBitmap) = (header.isPlain, header.isBitmap)
        self.data = data
    }

    func pixels(
        allowsDamage: Bool, cancellation: Cancellation?
    ) throws(WebImageError) -> (pixels: PixelBuffer, damage: WebImageError?) {
        var buffer = try MutablePixelBuffer(width: size.width, height: size.height)
        var damage = ImageFormat.pnm.truncated
        let (count, isOpaque) = try data.withBytes { (bytes) throws(WebImageError) in
            var reader = PNMReader(bytes: bytes, offset: offset)
            return try buffer.fillRows(0..<size.height, hasAlpha: hasAlpha, cancellation: cancellation) {
                (_, pixels) throws(WebImageError) in
                try readAnyRow(from: &reader, to: pixels, &damage)
            }
        }
        guard count < size.height else { return (buffer.freeze(isOpaque: isOpaque), nil) }
        guard allowsDamage, count > 0 else { throw damage }
        try buffer.clear(rows: count..<size.height, cancellation: cancellation)
        return (buffer.freeze(isOpaque: false), damage)
    }

    var hasSeparateRows: Bool { true }

    func pixels(
        resampledTo targetSize: PixelSize, cancellation: Cancellation?
    ) throws(WebImageError) -> PixelBuffer? {
        try data.withBytes { (bytes) throws(WebImageError) in
            var (reader, damage) = (PNMReader(bytes: bytes, offset: offset), ImageFormat.pnm.truncated)
            return try StreamedRows.pixels(of: size, resampledTo: targetSize, cancellation: cancellation) {
                (_, pixels) throws(WebImageError) in
                try readAnyRow(from: &reader, to: pixels, &damage)
            }
        }
    }

    private func readAnyRow(
        from reader: inout PNMReader, to pixels: UnsafeMutablePointer<UInt8>, _ damage: inout WebImageError
    ) throws(WebImageError) -> Bool {
        if isPlain { return try readPlainRow(from: &reader, to: pixels, &damage) }
        return isBitmap ? readBits(from: &reader, to: pixels) : readRow(from: &reader, to: pixels)
    }

    private func readPlainRow(
        from reader: inout PNMReader, to pixels: UnsafeMutablePointer<UInt8>, _ damage: inout WebImageError
    ) throws(WebImageError) -> Bool {
        for column in 0..<size.width {
            for channel in 0..<channelCount {
                let sample: Int?
                do throws(WebImageError) {
                    sample = isBitmap ? try reader.bit() : try reader.number()
                } catch {
                    damage = error
                    return false
                }
                guard let sample else { return false }
                put(isBitmap ? 1 - sample : sample, channel, in: pixels + column * 4)
            }
        }
        return true
    }

    private func readBits(from reader: inout PNMReader, to pixels: UnsafeMutablePointer<UInt8>) -> Bool {
        guard let row = reader.take((size.width + 7) / 8) else { return false }
        for column in 0..<size.width {
            put(Int(~row[column / 8] >> (7 - UInt8(column % 8)) & 1), 0, in: pixels + column * 4)
        }
        return true
    }

    private func readRow(from reader: inout PNMReader, to pixels: UnsafeMutablePointer<UInt8>) -> Bool {
        let bytesPerSample = maximum > 255 ? 2 : 1
        guard let row = reader.take(size.width * channelCount * bytesPerSample) else { return false }
        var offset = 0
        for column in 0..<size.width {
            for channel in 0..<channelCount {
                let sample = bytesPerSample == 1 ? Int(row[offset]) : Int(row[offset]) << 8 | Int(row[offset + 1])
                put(sample, channel, in: pixels + column * 4)
                offset += bytesPerSample
            }
        }
        return true
    }

    /// Writes a sample, rounded to 8 bits. Gray goes to three bytes.
    @inline(__always)
    private func put(_ sample: Int, _ channel: Int, in pixel: UnsafeMutablePointer<UInt8>) {
        let clamped = min(sample, maximum)
        let value = maximum == 255 ? UInt8(clamped) : UInt8((clamped * 255 + maximum / 2) / maximum)
        let isGray = channelCount < 3
        if isGray, channel == 0 {
            (pixel[0], pixel[1], pixel[2], pixel[3]) = (value, value, value, 255)
        } else if isGray {
            pixel[3] = value
        } else {
            pixel[channel] = value
            if channel == 2 { pixel[3] = 255 }
        }
    }
}

/// Reads the numbers and names of a PNM file.
private struct PNMReader {
    struct Header {
        var (width, height, maximum, channelCount) = (0, 0, 1, 1)
        var (isPlain, isBitmap) = (false, false)
        var offset = 0
    }

    let bytes: UnsafeRawBufferPointer
    var offset: Int

    /// Of P1 to P6.
    mutating func header(kind: UInt8) throws(WebImageError) -> Header {
        var header = Header()
        header.isPlain = kind <= UInt8(ascii: "3")
        header.isBitmap = kind == UInt8(ascii: "1") || kind == UInt8(ascii: "4")
        header.channelCount = kind == UInt8(ascii: "3") || kind == UInt8(ascii: "6") ? 3 : 1
        guard let width = try number(), let height = try number() else { throw ImageFormat.pnm.truncated }
        (header.width, header.height) = (width, height)
        if !header.isBitmap {
            guard let maximum = try number() else { throw ImageFormat.pnm.truncated }
            header.maximum = maximum
        }
        // One space ends the header.
        guard offset < bytes.count else { throw ImageFormat.pnm.truncated }
        header.offset = header.isPlain ? offset : offset + 1
        return header
    }

    /// Of P7, which has a name on each line.
    mutating func namedHeader() throws(WebImageError) -> Header {
        var header = Header()
        // The longest header that makes sense; what follows is not searched for its end.
        let limit = min(bytes.count, 64 << 10)
        while offset < limit {
            let end = bytes[offset..<limit].firstIndex(of: UInt8(ascii: "\n")) ?? limit
            let line = String(decoding: bytes[offset..<end], as: UTF8.self)
            guard end < bytes.count else { break }
            offset = end + 1
            let words = line.split { $0 == " " || $0 == "\t" || $0 == "\r" }
            guard let name = words.first, !name.hasPrefix("#") else { continue }
            if name == "ENDHDR" {
                header.offset = offset
                guard (1...4).contains(header.channelCount) else {
                    throw ImageFormat.pnm.unsupported("\(header.channelCount) samples a pixel")
                }
                return header
            }
            let value = words.dropFirst().first.flatMap { Int($0) }
            switch name {
            case "WIDTH": header.width = value ?? 0
            case "HEIGHT": header.height = value ?? 0
            case "DEPTH": header.channelCount = value ?? 0
            case "MAXVAL": header.maximum = value ?? 0
            default: break
            }
        }
        if limit == bytes.count { throw ImageFormat.pnm.truncated }
        throw ImageFormat.pnm.corrupt("a header without an end")
    }

    mutating func take(_ count: Int) -> UnsafeRawBufferPointer? {
        guard count <= bytes.count - offset else { return nil }
        defer { offset += count }
        return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
    }

    /// The next decimal number; `nil` where the bytes end before it does.
    mutating func number() throws(WebImageError) -> Int? {
        skipSpace()
        var (value, digitCount) = (0, 0)
        while offset < bytes.count, case let digit = bytes[offset] &- UInt8(ascii: "0"), digit <= 9 {
            value = value * 10 + Int(digit)
            digitCount += 1
            offset += 1
            guard value <= 1 << 32 else { throw ImageFormat.pnm.corrupt("a number of more than 32 bits") }
        }
        if digitCount > 0 { return value }
        guard offset == bytes.count else { throw ImageFormat.pnm.corrupt("no number at byte \(offset)") }
        return nil
    }

    /// The next of the bits of P1, which need no space between them.
    mutating func bit() throws(WebImageError) -> Int? {
        skipSpace()
        guard offset < bytes.count else { return nil }
        let digit = bytes[offset] &- UInt8(ascii: "0")
        guard digit <= 1 else { throw ImageFormat.pnm.corrupt("no bit at byte \(offset)") }
        offset += 1
        return Int(digit)
    }

    /// Skips white space, and comments up to the end of their lines.
    private mutating func skipSpace() {
        while offset < bytes.count {
            if bytes[offset] == UInt8(ascii: "#") {
                while offset < bytes.count, bytes[offset] != UInt8(ascii: "\n"), bytes[offset] != UInt8(ascii: "\r") {
                    offset += 1
                }
            } else if [0x20, 0x09, 0x0A, 0x0B, 0x0C, 0x0D].contains(bytes[offset]) {
                offset += 1
            } else {
                return
            }
        }
    }
}
