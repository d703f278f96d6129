public import FoundationEssentials
internal import SystemText
public import WebImageCore

/// What is known of a file before its pixels are decoded: format, size and frames, EXIF, XMP.
///
/// ```swift
/// let properties = try CodecRegistry.shared.properties(of: data)
/// print(properties.info.format.name, properties.info.size, properties.byteCount)
/// print(properties.exif?.camera ?? "unknown camera", properties.metadata.xmp?.count ?? 0)
/// for frame in properties.info.frames { print(frame.duration, frame.part?.rect.size ?? properties.info.size) }
/// ```
///
/// `WebImageManager.properties(for:)` returns them for an image that is loaded from a URL.
public struct ImageProperties: Sendable, Hashable {
    /// The format, the size, the orientation, the depth, the color profile's name, and of an animation its plays and frames.
    public var info: ImageInfo
    /// EXIF and XMP as they are stored; without both for a file that has none, or none that can be read.
    public var metadata: ImageMetadata
    /// The fields of the EXIF data; `nil` without EXIF that can be read.
    public var exif: EXIFFields?
    /// The length of the file in bytes.
    public var byteCount: Int

    /// Creates properties; ``exif`` is read from `metadata`.
    public init(info: ImageInfo, metadata: ImageMetadata = ImageMetadata(), byteCount: Int) {
        self.info = info
        self.metadata = metadata
        exif = metadata.exifFields
        self.byteCount = byteCount
    }
}

extension CodecRegistry {
    /// Reads all that is known of `data` without decoding pixels: ``info(of:limits:cancellation:)`` and
    /// ``metadata(of:limits:cancellation:)`` in one value. Blocks the calling thread.
    ///
    /// Metadata that cannot be read count as none: such a file is an image all the same.
    ///
    /// - Parameters:
    ///   - limits: those on time and memory, which decoder processes keep.
    ///   - cancellation: ends the work of a decoder process; `nil`, the default, for none.
    /// - Throws: the errors of ``info(of:limits:cancellation:)``.
    public func properties(
        of data: Data, limits: DecodingLimits = .default, cancellation: Cancellation? = nil
    ) throws(WebImageError) -> ImageProperties {
        let info = try info(of: data, limits: limits, cancellation: cancellation)
        let metadata: ImageMetadata
        do throws(WebImageError) {
            metadata = try self.metadata(of: data, limits: limits, cancellation: cancellation)
        } catch .cancelled {
            throw .cancelled
        } catch {
            metadata = ImageMetadata()
        }
        return ImageProperties(info: info, metadata: metadata, byteCount: data.count)
    }

    /// Reads all that is known of a file, like ``properties(of:limits:cancellation:)``. Reads the whole file, and blocks the calling thread.
    ///
    /// - Parameters:
    ///   - file: the URL of a regular file.
    ///   - limits: those on time and memory, which decoder processes keep.
    ///   - cancellation: ends the reading, and the work of a decoder process; `nil`, the default, for none.
    /// - Throws: ``WebImageError/invalidURL(_:reason:)`` for a URL of anything else, ``WebImageError/file(path:errno:)``, and the errors of
    ///   ``info(of:limits:cancellation:)``.
    public func properties(
        ofFileAt file: URL, limits: DecodingLimits = .default, cancellation: Cancellation? = nil
    ) throws(WebImageError) -> ImageProperties {
        guard let path = SystemString(fileURL: file) else { throw .invalidURL(file.absoluteString) }
        let data = try Data(contentsOfFile: path, cancellation: cancellation)
        return try properties(of: data, limits: limits, cancellation: cancellation)
    }
}
