internal import CWebImageLZ4
import FoundationEssentials
internal import Glibc
import WebImageCore

/// An image as its pixels, in the form in which ``PixelCache`` stores it. Numbers are little-endian.
///
/// | bytes | |
/// |---|---|
/// | 0–3 | "WIPX" |
/// | 4 | version, 1 |
/// | 5 | flags: 1 opaque, 2 compressed with LZ4, 4 thumbnail, 8 transformed |
/// | 6–7 | the length of the format's texts |
/// | 8–15 | width and height |
/// | 16–19 | the number of frames in the file |
/// | 20–23 | the length of the extended data; 0xFFFFFFFF for none |
/// | 24–31 | scale, an IEEE 754 double |
/// | 32–43 | length and checksum of the original's bytes |
/// | 44–63 | 0 |
/// | 64– | the format's name, media type and file extension, each followed by a line feed; the extended data |
/// | … | from the next multiple of 64: the pixels, without gaps between rows |
///
/// Measured with 60 thumbnails of 320 × 240 (photographs, drawings, icons): LZ4 makes photographs of noise no smaller,
/// others 7–40 % smaller, and drawings 2 to 10 times; unpacking takes 60–100 µs, copying 6 µs. Pixels are compressed if
/// that saves a quarter.
struct PixelFile {
    let image: Image
    /// The bytes that the image was made from.
    let original: BytesMark

    private struct Flags: OptionSet {
        let rawValue: UInt8
        static let opaque = Flags(rawValue: 1)
        static let compressed = Flags(rawValue: 2)
        static let thumbnail = Flags(rawValue: 4)
        static let transformed = Flags(rawValue: 8)
    }

    private static let signature = Array("WIPX".utf8)
    private static let version: UInt8 = 1
    private static let headerByteCount = 64
    private static let alignment = 64
    private static let noExtendedData = UInt32.max
    /// Larger pixels are compressed in part first, to see whether that helps.
    private static let sampleByteCount = 32 << 10
    /// LZ4's `acceleration`: the compressor skips more of what does not repeat, and takes half of the time.
    private static let acceleration: Int32 = 4

    init(_ image: Image, madeFrom original: BytesMark) { (self.image, self.original) = (image, original) }

    // MARK: Writing

    /// The bytes to store; `nil` for an image with more texts or data than fit.
    func encoded() -> Data? {
        let texts = image.format.map { Array("\($0.name)\n\($0.mimeType)\n\($0.fileExtension)\n".utf8) } ?? []
        let extended = image.extendedData
        guard texts.count <= UInt16.max, extended.map({ $0.count <= 1 << 20 }) ?? true else { return nil }
        let rowByteCount = image.width * 4
        let pixelByteCount = rowByteCount * image.height
        let begin = Self.aligned(Self.headerByteCount + texts.count + (extended?.count ?? 0))
        let compressed = image.pixels.bytesPerRow == rowByteCount ? Self.compressed(image.pixels) : nil
        var flags: Flags = []
        if image.pixels.isOpaque { flags.insert(.opaque) }
        if compressed != nil { flags.insert(.compressed) }
        if image.isThumbnail { flags.insert(.thumbnail) }
        if image.isTransformed { flags.insert(.transformed) }

        var data = Data(count: begin + (compressed?.count ?? pixelByteCount))
        data.withUnsafeMutableBytes { bytes in
            bytes.copyBytes(from: Self.signature + [Self.version, flags.rawValue])
            bytes.store(UInt16(texts.count), at: 6)
            bytes.store(UInt32(image.width), at: 8)
            bytes.store(UInt32(image.height), at: 12)
            bytes.store(UInt32(clamping: image.frameCount), at: 16)
            bytes.store(extended.map { UInt32($0.count) } ?? Self.noExtendedData, at: 20)
            bytes.store(image.scale.bitPattern, at: 24)
            bytes.store(UInt64(original.byteCount), at: 32)
            bytes.store(original.checksum, at: 40)
            bytes.copy(texts, to: Self.headerByteCount)
            if let extended { bytes.copy(extended, to: Self.headerByteCount + texts.count) }
            if let compressed {
                bytes.copy(compressed, to: begin)
            } else {
                for y in 0..<image.height {
                    let row = UnsafeRawBufferPointer(start: image.pixels.row(y), count: rowByteCount)
                    bytes.copy(row, to: begin + y * rowByteCount)
                }
            }
        }
        return data
    }

    /// Returns `nil` if the pixels would not become a quarter smaller.
    private static func compressed(_ pixels: PixelBuffer) -> [UInt8]? {
        pixels.withUnsafeBytes { bytes in
            guard bytes.count <= Int(LZ4_MAX_INPUT_SIZE) else { return nil }
            if bytes.count > 4 * sampleByteCount {
                let middle = bytes.count / 2
                let sample = UnsafeRawBufferPointer(rebasing: bytes[middle..<middle + sampleByteCount])
                guard compressed(sample) != nil else { return nil }
            }
            return compressed(bytes)
        }
    }

    private static func compressed(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
        // LZ4 fails when the result does not fit.
        let capacity = bytes.count * 3 / 4
        let result = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
            count = buffer.withMemoryRebound(to: CChar.self) { buffer in
                Int(
                    LZ4_compress_fast(
                        bytes.baseAddress?.assumingMemoryBound(to: CChar.self), buffer.baseAddress, Int32(bytes.count),
                        Int32(capacity), acceleration))
            }
        }
        return result.isEmpty ? nil : result
    }

    private static func aligned(_ offset: Int) -> Int { (offset + alignment - 1) / alignment * alignment }

    // MARK: Reading

    /// The mark of the original, without reading the pixels; `nil` for other bytes.
    static func original(of data: Data) -> BytesMark? {
        data.withUnsafeBytes { bytes in
            guard hasHeader(bytes) else { return nil }
            return BytesMark(
                byteCount: Int64(clamping: bytes.load(UInt64.self, at: 32)), checksum: bytes.load(UInt32.self, at: 40))
        }
    }

    private static func hasHeader(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.count >= headerByteCount && bytes.prefix(signature.count).elementsEqual(signature) && bytes[4] == version
    }

    /// Returns `nil` for bytes that are not such a file, or not a whole one.
    init?(_ data: Data) {
        guard let original = Self.original(of: data), let image = data.withUnsafeBytes(Self.image(in:)) else {
            return nil
        }
        self.init(image, madeFrom: original)
    }

    private static func image(in bytes: UnsafeRawBufferPointer) -> Image? {
        let flags = Flags(rawValue: bytes[5])
        let textByteCount = Int(bytes.load(UInt16.self, at: 6))
        let (width, height) = (Int(bytes.load(UInt32.self, at: 8)), Int(bytes.load(UInt32.self, at: 12)))
        let storedCount = bytes.load(UInt32.self, at: 20)
        let extendedByteCount = storedCount == noExtendedData ? 0 : Int(storedCount)
        let scale = Double(bitPattern: bytes.load(UInt64.self, at: 24))
        // Neither product nor sum overflows: each factor is less than 2^16, each summand less than 2^34.
        let sides = 1...PixelSize.maximumDimension
        guard sides.contains(width), sides.contains(height), scale.isFinite, scale > 0 else { return nil }
        let begin = aligned(headerByteCount + textByteCount + extendedByteCount)
        guard begin <= bytes.count else { return nil }
        let content = UnsafeRawBufferPointer(rebasing: bytes[begin...])
        // Checked before memory is allocated. LZ4 compresses to 1/255 at best.
        let byteCount = width * height * 4
        guard flags.contains(.compressed) ? content.count >= byteCount / 256 : content.count == byteCount,
            let pixels = pixels(width, height, flags, content)
        else { return nil }
        let texts = UnsafeRawBufferPointer(rebasing: bytes[headerByteCount..<headerByteCount + textByteCount])
        let extended = bytes[(headerByteCount + textByteCount)...].prefix(extendedByteCount)
        var image = Image(
            pixels: pixels, scale: scale, format: format(texts), frameCount: Int(bytes.load(UInt32.self, at: 16)),
            isThumbnail: flags.contains(.thumbnail), isTransformed: flags.contains(.transformed))
        if storedCount != noExtendedData { image.extendedData = Data(extended) }
        return image
    }

    private static func pixels(
        _ width: Int, _ height: Int, _ flags: Flags, _ content: UnsafeRawBufferPointer
    ) -> PixelBuffer? {
        guard var pixels = try? MutablePixelBuffer(width: width, height: height) else { return nil }
        let isWhole = pixels.withUnsafeMutableBytes { target in
            guard flags.contains(.compressed) else {
                target.copyMemory(from: content)
                return true
            }
            guard let capacity = Int32(exactly: target.count), let count = Int32(exactly: content.count) else {
                return false
            }
            let unpacked = LZ4_decompress_safe(
                content.baseAddress?.assumingMemoryBound(to: CChar.self),
                target.baseAddress?.assumingMemoryBound(to: CChar.self), count, capacity)
            return unpacked == capacity
        }
        return isWhole ? pixels.freeze(isOpaque: flags.contains(.opaque)) : nil
    }

    private static func format(_ texts: UnsafeRawBufferPointer) -> ImageFormat? {
        let parts = texts.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self)
        }
        guard parts.count == 4 else { return nil }
        let format = ImageFormat(name: parts[0], mimeType: parts[1], fileExtension: parts[2])
        // The usual ones have texts already.
        return ImageFormat.known.first { $0 == format } ?? format
    }
}

extension UnsafeMutableRawBufferPointer {
    fileprivate func store<Value: FixedWidthInteger>(_ value: Value, at offset: Int) {
        storeBytes(of: value.littleEndian, toByteOffset: offset, as: Value.self)
    }

    fileprivate func copy(_ bytes: some Collection<UInt8>, to offset: Int) {
        UnsafeMutableRawBufferPointer(rebasing: self[offset...]).copyBytes(from: bytes)
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func load<Value: FixedWidthInteger>(_: Value.Type, at offset: Int) -> Value {
        Value(littleEndian: loadUnaligned(fromByteOffset: offset, as: Value.self))
    }
}
