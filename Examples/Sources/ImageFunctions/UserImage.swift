import Foundation
import WebImage

/// The file of an image that a user has sent: ten functions that a server needs.
///
/// Files are decoded in a process of their own, within the limits of a server. Except for ``format``, the functions block:
/// call them where that is allowed, as on the thread pool of a server framework.
struct UserImage {
    let data: Data
    private let codecs = CodecRegistry.shared.isolated(by: .allFormats)
    private let limits = WebImageManager.Configuration.server.decodingLimits

    init(_ data: Data) { self.data = data }

    // MARK: What it is

    /// The format, from the first bytes; `nil` for what is not an image.
    var format: ImageFormat? { ImageFormat(signatureOf: data) }

    /// The size in pixels, upright.
    func size() throws(WebImageError) -> PixelSize { try info().size }

    /// How the pixels in the file are turned. All functions that return files turn them upright.
    func orientation() throws(WebImageError) -> ImageOrientation { try info().orientation }

    /// Whether something shines through.
    func hasTransparency() throws(WebImageError) -> Bool {
        guard try info().hasAlpha else { return false }
        return try decoded(fitting: 512).hasTranslucentPixels
    }

    /// What a camera has written: its name, the date, the exposure, the place. `nil` if there is nothing.
    func metadata() throws(WebImageError) -> EXIFFields? {
        try codecs.metadata(of: data, limits: limits).exif.flatMap { EXIFFields($0) }
    }

    /// Checks that the file is a whole image in one of some formats: every pixel of every frame is decoded.
    func validate(_ formats: Set<ImageFormat> = [.jpeg, .png, .gif, .webp]) throws(WebImageError) {
        guard let format, formats.contains(format) else {
            throw .unrecognizedFormat(contentType: nil, leadingBytes: Array(data.prefix(16)))
        }
        let image = try codecs.decode(data, options: DecodingOptions(allowsDamage: false, limits: limits))
        guard let animation = image.animation else { return }
        let reader = animation.makeFrameReader()
        for index in 0..<animation.frameCount { _ = try reader.frame(at: index, cancellation: nil) }
    }

    // MARK: What is made of it

    /// Returns a still of at most `side` pixels a side: PNG with transparency, JPEG without.
    func thumbnail(side: Int) throws(WebImageError) -> Data {
        let image = try decoded(fitting: side, allFrames: false)
        return try codecs.encode(image, as: image.hasTranslucentPixels ? .png : .jpeg)
    }

    /// Returns an animation with all frames, each of at most `side` pixels a side: GIF of a GIF, WebP of others. It is
    /// `nil` for a still.
    func animatedThumbnail(side: Int) throws(WebImageError) -> Data? {
        let image = try decoded()
        guard let animation = image.animation else { return nil }
        let options = EncodingOptions(bounds: Thumbnail(.pixels(width: side, height: side)))
        return try codecs.encode(EncodableAnimation(animation), as: format == .gif ? .gif : .webp, options: options)
    }

    /// Returns the part of a size with the most to see, in the format of the file where that can be written.
    func cropped(to size: PixelSize) throws(WebImageError) -> Data {
        let box = TargetSize.pixels(width: size.width, height: size.height)
        let image = try decoded().processed(by: [
            .resize(to: box, mode: .aspectFill), .crop(to: size, gravity: .smart),
        ])
        return try encoded(image)
    }

    /// Returns the same image, upright, without a camera's metadata, which may tell where a user lives.
    func stripped() throws(WebImageError) -> Data { try encoded(decoded()) }

    // MARK: Parts

    private func info() throws(WebImageError) -> ImageInfo { try codecs.info(of: data, limits: limits) }

    private func decoded(fitting side: Int? = nil, allFrames: Bool = true) throws(WebImageError) -> WebImage.Image {
        let thumbnail = side.map { Thumbnail(.pixels(width: $0, height: $0)) }
        return try codecs.decode(
            data,
            options: DecodingOptions(
                thumbnail: thumbnail, firstFrameOnly: !allFrames, allowsDamage: false, limits: limits))
    }

    private func encoded(_ image: WebImage.Image) throws(WebImageError) -> Data {
        let other: ImageFormat = image.hasTranslucentPixels ? .png : .jpeg
        guard let format, codecs.canEncode(format) else { return try codecs.encode(image, as: other) }
        return try codecs.encode(image, as: format)
    }
}
