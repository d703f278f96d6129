internal import WebImageCore

/// What one picture goes through: which size its stored pixels get, how they become sRGB, and which turn follows.
///
///     file ─ decode ─▶ stored pixels ─ resample ─▶ target size ─ convert colours ─▶ sRGB, still lying ─ turn ─▶ upright
///
/// Colours and turn come last, where there are fewest pixels left.
struct DecodingPlan {
    /// As in the file.
    let storedSize: PixelSize
    let orientation: ImageOrientation
    /// What comes out, before it is turned upright.
    let targetSize: PixelSize
    /// The way from the file's colours to sRGB.
    let colors: ColorConversion
    var options: DecodingOptions

    /// Throws ``WebImageError/imageTooLarge(size:pixelLimit:)`` before anything is allocated.
    ///
    /// - Parameter colors: found only for a picture within the limits; a profile can take lcms2 tens of milliseconds.
    init(
        storedSize: PixelSize, orientation: ImageOrientation = .up,
        colors: @autoclosure () -> ColorConversion = .none, options: DecodingOptions
    ) throws(WebImageError) {
        try options.checkCancellation()
        try options.limits.check(storedSize)
        self.storedSize = storedSize
        self.orientation = orientation
        self.colors = colors()
        self.options = options
        let uprightSize = orientation.upright(storedSize)
        var target = options.thumbnail?.targetSize(of: uprightSize) ?? uprightSize
        if let byteLimit = options.byteLimit { target = target.scaledDown(toPixelCount: byteLimit / 4) }
        targetSize = orientation.swapsSides ? target.transposed : target
    }

    /// The picture made of `decoded`: stored pixels, or fewer if the decoder has scaled them down on its way.
    func image(of decoded: PixelBuffer, format: ImageFormat, frameCount: Int = 1) throws(WebImageError) -> Image {
        let resampled = try decoded.resampled(to: targetSize, cancellation: options.cancellation)
        let converted = try colors.convertedToSRGB(resampled, cancellation: options.cancellation)
        let upright = try converted.upright(from: orientation, cancellation: options.cancellation)
        return Image(
            pixels: upright, scale: options.scale, format: format, frameCount: frameCount,
            isThumbnail: targetSize != storedSize)
    }
}
