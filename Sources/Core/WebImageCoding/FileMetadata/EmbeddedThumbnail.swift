package import FoundationEssentials
internal import WebImageCore

/// The small JPEG in the EXIF data of a photograph (CIPA DC-008: the second directory), which arrives before its pixels.
package enum EmbeddedThumbnail: Equatable {
    /// More bytes of the file are needed.
    case undecided
    case none
    /// A JPEG file with the image's orientation.
    case jpeg(Data)

    /// Looks in the beginning of a file of any format.
    ///
    /// Cameras add bars to thumbnails that have other proportions than the image, and programs that crop an image may leave its thumbnail.
    /// Such thumbnails count as none, and so do those that are not smaller than the image or that have more than 512 × 512 pixels.
    package init(startOf file: Data) {
        switch ImageFormat(signatureOf: file) {
        case .jpeg: break
        case nil where file.count < 12:
            self = .undecided
            return
        default:
            self = .none
            return
        }
        do throws(WebImageError) {
            let header = try JPEGHeader(reading: file.bytes)
            guard header.reachesScan else { throw .decoding(format: .jpeg, reason: .truncated) }
            self = Self.thumbnail(of: header, in: file.bytes).map { .jpeg($0) } ?? .none
        } catch .decoding(_, .truncated, _) {
            self = file.count < Self.byteLimit ? .undecided : .none
        } catch {
            self = .none
        }
    }

    private static func thumbnail(of header: JPEGHeader, in data: RawSpan) -> Data? {
        guard let segment = header.metadata.exif else { return nil }
        let exif = data.extracting(segment)
        guard let layout = TIFFLayout(exif),
            let range = layout.thumbnail(behindDirectoryAt: layout.firstDirectory, in: exif)?.bytes
        else { return nil }
        let thumbnail = Data(exif.extracting(range).withUnsafeBytes { Array($0) })
        guard ImageFormat(signatureOf: thumbnail) == .jpeg, let own = try? JPEGHeader(reading: thumbnail.bytes),
            own.reachesScan,
            !own.isLossless, own.size.pixelCount <= pixelLimit, isReduction(own.size, of: header.size)
        else { return nil }
        return ImageMetadata.oriented(thumbnail, as: header.orientation)
    }

    /// Whether a size is another one scaled down, up to rounding.
    private static func isReduction(_ size: PixelSize, of whole: PixelSize) -> Bool {
        guard size.width < whole.width, size.height < whole.height else { return false }
        // Without fractions: the differences to the exact sides, each times the other side of the whole.
        let difference = abs(size.width * whole.height - size.height * whole.width)
        return difference <= max(whole.width, whole.height)
    }

    /// Photographs have less metadata than this before their pixels.
    private static let byteLimit = 1 << 20
    /// Decoded in some 2 ms.
    private static let pixelLimit = 512 * 512
}
