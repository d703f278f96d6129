package import WebImageCore

/// A program's request to a decoder process.
///
///     program ──▶ number, request, [memory] ──▶ decoder
///     program ◀── number, reply ◀── decoder
///
/// A file is in the input: memory that comes with the request, or memory that is kept. Pixels and files go to the output, which is kept.
package enum DecoderRequest: Codable, Sendable {
    /// The properties of a file.
    case info(ImageFormat)
    /// The properties that the first bytes of a file contain.
    case probe(ImageFormat)
    /// EXIF and XMP, in the output.
    case metadata(ImageFormat)
    /// The color profile, in the output.
    case profile(ImageFormat)
    /// The gain map, in the output: a file, its metadata, and its colors.
    case gainMap(ImageFormat)
    /// The image, or the first frame of an animation, in the output.
    case decode(ImageFormat, SentDecodingOptions)
    /// The properties of an animation's frames.
    case animation(ImageFormat, SentDecodingOptions)
    /// Opens a file for reading its frames.
    case openFrames(session: Int, ImageFormat, SentDecodingOptions)
    /// A frame, in the output.
    case frame(session: Int, index: Int)
    /// Opens a file that is still arriving.
    case openIncremental(session: Int, ImageFormat, SentDecodingOptions)
    /// The next bytes of the file.
    case append(session: Int)
    /// The image so far, in the output.
    case preview(session: Int)
    /// The image after the last bytes, in the output.
    case finish(session: Int)
    /// Closes a file.
    case close(session: Int)
    /// Encodes the pixels in the input; the file is in the output.
    case encode(ImageFormat, SentEncodingOptions, PixelLayout)
    /// Encodes an animation. The decoder requests its frames with ``DecoderReply/needsFrame(_:)``.
    case encodeAnimation(
        ImageFormat, SentEncodingOptions, size: PixelSize, isOpaque: Bool, loopCount: Int, durations: [Duration])
    /// A frame that the decoder requested, in the input.
    case encodedFrame(PixelLayout)
    /// The file that the decoder requested, in the input. Without an input, all directories for temporary files are in
    /// memory.
    case spool(directory: String)
    /// Why there is no such file.
    case noSpool(DecoderFailure)
    /// The memory that comes with it is the input of the next requests that have none of their own. No reply.
    case keepInput
    /// The memory that comes with it is the output of the next requests. No reply.
    case keepOutput
    /// Gives back what earlier requests took. No reply.
    case rest
    /// Stops the request of that number.
    case cancel
}

/// A request, and what is true of all of them.
package struct NumberedRequest: Codable, Sendable {
    /// Counts the requests, so that replies are those of a request.
    package var number: Int
    /// How many threads the decoder may use now. It does not see the decoders beside it.
    package var threadCount: Int
    /// The length of the file in the kept input; 0 if the request has no input, or one of its own.
    package var inputByteCount: Int
    package var content: DecoderRequest

    init(number: Int, threadCount: Int, inputByteCount: Int, content: DecoderRequest) {
        self.number = number
        self.threadCount = threadCount
        self.inputByteCount = inputByteCount
        self.content = content
    }
}

/// Where pixels are in memory.
package struct PixelLayout: Codable, Equatable, Sendable {
    /// The distance to the first byte of the first row, in bytes.
    package var offset: Int
    package var size: PixelSize
    package var bytesPerRow: Int
    package var isOpaque: Bool

    package init(offset: Int, size: PixelSize, bytesPerRow: Int, isOpaque: Bool) {
        self.offset = offset
        self.size = size
        self.bytesPerRow = bytesPerRow
        self.isOpaque = isOpaque
    }

    /// Whether the pixels of two layouts are in the same place.
    package func isSamePlace(as other: PixelLayout) -> Bool {
        offset == other.offset && size == other.size && bytesPerRow == other.bytesPerRow
    }

    /// From the first byte of the first row to the end of the last, in bytes.
    package var byteCount: Int { bytesPerRow * (size.height - 1) + size.width * 4 }
}
