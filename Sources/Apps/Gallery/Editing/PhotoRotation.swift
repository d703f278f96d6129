import CGallery
import FoundationEssentials
import Glibc
import WebImageGTK

/// Rotates the image of a file without loss.
///
///     JPEG ─┬─ blocks of coefficients move, the orientation is 1 from then on
///           └─ where they cannot: another orientation in EXIF and XMP
///     PNG, BMP, lossless WebP ── pixels are encoded again, if all of them and what describes them survive
///     others ── refused
enum PhotoRotation {
    /// Why a file cannot be rotated, for users.
    struct Refusal: Error, CustomStringConvertible {
        let description: String
        /// Whether another attempt would fail, too.
        var isFinal = false
    }

    private static let registry = CodecRegistry.shared

    /// Returns the rotated file. Blocks the thread.
    ///
    /// - Parameter quarters: the quarter turns, clockwise.
    static func rotated(_ file: Data, by quarters: Int) throws(Refusal) -> Data {
        let info: ImageInfo
        let metadata: ImageMetadata
        do throws(WebImageError) {
            info = try registry.info(of: file, limits: .ownFiles)
            metadata = try registry.metadata(of: file, limits: .ownFiles)
        } catch { throw Refusal(description: error.userDescription) }
        guard info.format == .jpeg else { return try encodedAgain(file, info, metadata, quarters) }
        let turn = Turn(info.orientation).rotated(by: quarters)
        var (result, failure): (Data?, String?) = (nil, nil)
        // A gain map and other images of the file would keep their direction.
        if !info.hasGainMap, let turned = turned(file, turn, &failure) {
            let size = quarters % 2 == 0 ? info.size : PixelSize(width: info.size.height, height: info.size.width)
            result = try? metadata.turnedUpright(size).replaced(inJPEG: turned)
            // The orientation may be where it cannot be changed: the image would turn once more.
            if let file = result, !shows(.up, file) { result = nil }
        }
        if result == nil {
            result = metadata.withOrientation(turn.orientation).flatMap { try? $0.replaced(inJPEG: file) }
            if let file = result, !shows(turn.orientation, file) { result = nil }
        }
        guard let result else {
            throw Refusal(description: failure ?? localized("It cannot be rotated without loss. Save a copy instead."))
        }
        return result
    }

    private static func shows(_ orientation: ImageOrientation, _ file: Data) -> Bool {
        do throws(WebImageError) { return try registry.info(of: file).orientation == orientation } catch {
            return false
        }
    }

    /// Returns a JPEG whose blocks are turned; `nil` if not all of the file would survive.
    ///
    /// - Parameter failure: what is wrong with the file, for users, if libjpeg cannot read all of it.
    private static func turned(_ file: Data, _ turn: Turn, _ failure: inout String?) -> Data? {
        var result = gallery_jpeg()
        let status = file.withUnsafeBytes { bytes in
            gallery_turn_jpeg(
                bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count, turn.transposes, turn.mirrorsColumns,
                turn.mirrorsRows, &result)
        }
        switch status {
        case GALLERY_TURN_OK:
            guard let bytes = result.bytes else { return nil }
            return Data(bytesNoCopy: bytes, count: result.length, deallocator: .free)
        case GALLERY_TURN_INEXACT, GALLERY_TURN_HAS_MORE: return nil
        default:
            let message = withUnsafeBytes(of: &result.message) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            failure = localized("The file is damaged, or of a rare kind: {message}", ["message": message])
            return nil
        }
    }

    // MARK: Other formats

    private static func encodedAgain(
        _ file: Data, _ info: ImageInfo, _ metadata: ImageMetadata, _ quarters: Int
    ) throws(Refusal) -> Data {
        let isLosslessWebP = info.format == .webp && file.dropFirst(12).starts(with: Array("VP8L".utf8))
        guard info.format == .png || info.format == .bmp || isLosslessWebP else {
            throw Refusal(
                description: localized(
                    "{format} cannot be rotated without loss. Save a copy instead.", ["format": info.format.title]))
        }
        guard info.frameCount == 1 else {
            throw Refusal(description: localized("Animations cannot be rotated. Save a copy of a frame instead."))
        }
        guard info.bitDepth <= 8, !info.hasColorProfile, !info.isHDR else {
            throw Refusal(description: localized("Its colors would lose precision. Save a copy instead."))
        }
        let image, copy: Image
        var result: Data
        let swapsSides = quarters % 2 != 0
        let chunks =
            info.format == .png
            ? try PNGChunks(of: file, swapsSides: swapsSides, hasXMP: metadata.xmp != nil) : nil
        do throws(WebImageError) {
            let decoding = DecodingOptions(limits: .ownFiles)
            image = try registry.decode(file, options: decoding)
                .processed(by: [.rotate(degrees: Double(quarters * 90))])
            var options = EncodingOptions(isLossless: true)
            options.metadata = metadata
            result = try registry.encode(image, as: info.format, options: options)
            if let chunks { result = chunks.added(to: result) }
            if info.format == .bmp {
                result = BMPResolution(of: file, swapsSides: swapsSides)?.set(in: result) ?? result
            }
            copy = try registry.decode(result, options: decoding)
        } catch { throw Refusal(description: error.userDescription) }
        // Colors of transparent pixels are rounded.
        guard image.pixels.isOpaque, image.pixels.hasSamePixels(as: copy.pixels) else {
            throw Refusal(description: localized("Some of its pixels would change. Save a copy instead."))
        }
        return result
    }
}

extension PixelBuffer {
    fileprivate func hasSamePixels(as other: PixelBuffer) -> Bool {
        guard size == other.size else { return false }
        return withUnsafeBytes { own in
            other.withUnsafeBytes { others in
                (0..<height).allSatisfy { row in
                    let (start, other) = (row * bytesPerRow, row * other.bytesPerRow)
                    guard let first = own.baseAddress, let second = others.baseAddress else { return true }
                    return memcmp(first + start, second + other, width * 4) == 0
                }
            }
        }
    }
}
