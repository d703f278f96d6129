public import FoundationEssentials
internal import SystemText
public import WebImageCore

extension CodecRegistry {
    /// Reads the EXIF of a file like ``metadata(of:limits:cancellation:)``, but only the parts of the file that can have it: the beginning of
    /// a JPEG, and the boxes and chunks of others. The dates of many photographs are read in this way. XMP may be missing. Blocks the
    /// calling thread.
    ///
    /// ```swift
    /// let metadata = try CodecRegistry.shared.metadata(ofFileAt: folder.appending(path: "photo.jpg"))
    /// let date = metadata.exifFields?.date
    /// ```
    ///
    /// - Parameters:
    ///   - file: the URL of a regular file.
    ///   - limits: those on time and memory, which decoder processes keep.
    ///   - cancellation: ends the reading, and the work of a decoder process; `nil`, the default, for none.
    /// - Throws: ``WebImageError/invalidURL(_:reason:)`` for a URL of anything else, ``WebImageError/file(path:errno:)``, and the errors of
    ///   ``info(of:limits:cancellation:)``.
    public func metadata(
        ofFileAt file: URL, limits: DecodingLimits = .default, cancellation: Cancellation? = nil
    ) throws(WebImageError) -> ImageMetadata {
        guard let path = SystemString(fileURL: file) else { throw .invalidURL(file.absoluteString) }
        let excerpt = try EXIFExcerpt.read(path, cancellation ?? Cancellation())
        return try metadata(of: excerpt, limits: limits, cancellation: cancellation)
    }

    /// Encodes an image into a file, which other programs see as a whole or not at all. If the image has an ``Image/animation`` and the
    /// format supports animations, encodes all frames. Blocks the calling thread.
    ///
    /// ```swift
    /// try CodecRegistry.shared.encode(photo, as: .webp, toFileAt: folder.appending(path: "photo.webp"))
    /// ```
    ///
    /// The bytes go to a temporary file in the same folder, which then gets the name. An existing file is replaced, and keeps its permissions;
    /// links are followed. After an error or a cancellation, the file is as it was before. The system is not told to write through to the disk.
    ///
    /// Animations in WebP and PNG are written frame by frame, so that the file is never in memory as a whole, unless
    /// ``EncodingOptions/byteLimit`` is set. Other files are written once they are encoded.
    ///
    /// - Parameter file: the URL of a regular file, or of none in a folder that exists.
    /// - Throws: ``WebImageError/invalidURL(_:reason:)`` for a URL of anything else, ``WebImageError/file(path:errno:)``, and the errors of
    ///   ``encode(_:as:options:)-(Image,_,_)``.
    public func encode(
        _ image: Image, as format: ImageFormat, toFileAt file: URL, options: EncodingOptions = EncodingOptions()
    ) throws(WebImageError) {
        if let animation = image.animation, try encoder(for: format) is any AnimationEncoder {
            return try encode(EncodableAnimation(animation), as: format, toFileAt: file, options: options)
        }
        let draft = try draft(of: file, as: format)
        try draft.append(encode(image, as: format, options: options))
        try draft.finish()
    }

    /// Encodes an animation into a file, like the method for an image. A single frame becomes a still image, in any format.
    ///
    /// - Throws: as the method for an image, and ``WebImageError/encoding(format:reason:)`` with
    ///   ``WebImageError/EncodingFailure/noAnimation`` if the format does not support animations.
    public func encode(
        _ animation: EncodableAnimation, as format: ImageFormat, toFileAt file: URL,
        options: EncodingOptions = EncodingOptions()
    ) throws(WebImageError) {
        let draft = try draft(of: file, as: format)
        if animation.frames.count > 1, options.byteLimit == nil,
            let encoder = try encoder(for: format) as? any StreamingEncoder
        {
            var animation = animation
            if let bounds = options.bounds { animation.bounds = bounds }
            try encoder.encode(animation, options: options, to: draft)
        } else {
            try draft.append(encode(animation, as: format, options: options))
        }
        try draft.finish()
    }

    /// Errors of the place and the format come before the work.
    private func draft(of file: URL, as format: ImageFormat) throws(WebImageError) -> UnfinishedFile {
        _ = try encoder(for: format)
        guard let path = SystemString(fileURL: file) else { throw .invalidURL(file.absoluteString) }
        return try UnfinishedFile(replacing: path)
    }
}
