import CGallery
import FoundationEssentials
import Glibc
import WebImageGTK

/// Rotates the image of a file without loss.
///
///     JPEG ─┬─ blocks of coefficients move, the orientation is 1 from then on
///           └─ where they cannot: another orientation in EXIF and XMP
///     PNG, BMP, lossless WebP ── pixels are encoded again, if all of them survive
///     others ── refused
enum PhotoRotation {
    /// Why a file cannot be rotated, for users.
    struct Refusal: Error, CustomStringConvertible {
        let description: String
    }

    /// Returns the rotated file. Blocks the thread.
    ///
    /// - Parameter quarters: the quarter turns, clockwise.
    static func rotated(_ file: Data, by quarters: Int, registry: CodecRegistry = .shared) throws(Refusal) -> Data {
        let info: ImageInfo
        let metadata: ImageMetadata
        do throws(WebImageError) {
            (info, metadata) = (try registry.info(of: file), try registry.metadata(of: file))
        } catch { throw Refusal(description: error.userDescription) }
        guard info.format == .jpeg else { return try encodedAgain(file, info, metadata, quarters, registry) }
        let turn = Turn(info.orientation).rotated(by: quarters)
        let result: Data?
        // A gain map and other images of the file would keep their direction.
        if !info.hasGainMap, let turned = try turned(file, turn) {
            let size = quarters % 2 == 0 ? info.size : PixelSize(width: info.size.height, height: info.size.width)
            result = JPEGMetadata(of: turned).replaced(with: metadata.turnedUpright(size))
        } else {
            result = metadata.withOrientation(turn.orientation).flatMap { JPEGMetadata(of: file).replaced(with: $0) }
        }
        guard let result else {
            throw Refusal(description: "It cannot be rotated without loss. Save a copy instead.")
        }
        return result
    }

    /// Returns a JPEG whose blocks are turned; `nil` if not all of the file would survive.
    private static func turned(_ file: Data, _ turn: Turn) throws(Refusal) -> Data? {
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
            throw Refusal(description: "The file is damaged, or of a rare kind: \(message)")
        }
    }

    // MARK: Other formats

    private static func encodedAgain(
        _ file: Data, _ info: ImageInfo, _ metadata: ImageMetadata, _ quarters: Int, _ registry: CodecRegistry
    ) throws(Refusal) -> Data {
        let isLosslessWebP = info.format == .webp && file.dropFirst(12).starts(with: Array("VP8L".utf8))
        guard info.format == .png || info.format == .bmp || isLosslessWebP else {
            throw Refusal(description: "\(info.format.title) cannot be rotated without loss. Save a copy instead.")
        }
        guard info.frameCount == 1 else {
            throw Refusal(description: "Animations cannot be rotated. Save a copy of a frame instead.")
        }
        guard info.bitDepth <= 8, !info.hasColorProfile, !info.isHDR else {
            throw Refusal(description: "Its colors would lose precision. Save a copy instead.")
        }
        let image, copy: Image
        let result: Data
        do throws(WebImageError) {
            image = try registry.decode(file).processed(by: [.rotate(degrees: Double(quarters * 90))])
            var options = EncodingOptions(isLossless: true)
            options.metadata = metadata
            result = try registry.encode(image, as: info.format, options: options)
            copy = try registry.decode(result)
        } catch { throw Refusal(description: error.userDescription) }
        // Colors of transparent pixels are rounded.
        guard image.pixels.isOpaque, image.pixels.hasSamePixels(as: copy.pixels) else {
            throw Refusal(description: "Some of its pixels would change. Save a copy instead.")
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
                    return own[start..<start + width * 4].elementsEqual(others[other..<other + width * 4])
                }
            }
        }
    }
}
