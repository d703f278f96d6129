public import WebImageCore

// These block the calling thread for as long as the work takes, on several threads where it is large. On Swift's cooperative
// threads, use the async `processed(by:)`.
extension Image {
    /// This picture brought to a box in points; see ``ImageProcessors/Resize``. Blocks the calling thread.
    ///
    /// - Throws: what ``ImageProcessor/process(_:cancellation:)`` throws.
    public func resized(
        to size: PointSize, mode: ImageProcessors.Resize.Mode = .aspectFit,
        filter: ImageProcessors.Resize.Filter = .lanczos, allowsUpscaling: Bool = true,
        cancellation: Cancellation? = nil
    ) throws(WebImageError) -> Image {
        try ImageProcessors.Resize(to: size, mode: mode, filter: filter, allowsUpscaling: allowsUpscaling)
            .process(self, cancellation: cancellation)
    }

    /// This picture brought to a box in pixels; see ``ImageProcessors/Resize``. Blocks the calling thread.
    ///
    /// - Throws: what ``ImageProcessor/process(_:cancellation:)`` throws.
    public func resized(
        toPixels size: PixelSize, mode: ImageProcessors.Resize.Mode = .aspectFit,
        filter: ImageProcessors.Resize.Filter = .lanczos, allowsUpscaling: Bool = true,
        cancellation: Cancellation? = nil
    ) throws(WebImageError) -> Image {
        try ImageProcessors.Resize(toPixels: size, mode: mode, filter: filter, allowsUpscaling: allowsUpscaling)
            .process(self, cancellation: cancellation)
    }

    /// This picture brought to a width in points, in proportion; see ``ImageProcessors/Resize``. Blocks the calling thread.
    ///
    /// - Throws: what ``ImageProcessor/process(_:cancellation:)`` throws.
    public func resized(
        width: Double, filter: ImageProcessors.Resize.Filter = .lanczos, allowsUpscaling: Bool = true,
        cancellation: Cancellation? = nil
    ) throws(WebImageError) -> Image {
        try ImageProcessors.Resize(width: width, filter: filter, allowsUpscaling: allowsUpscaling)
            .process(self, cancellation: cancellation)
    }

    /// This picture brought to a height in points, in proportion; see ``ImageProcessors/Resize``. Blocks the calling thread.
    ///
    /// - Throws: what ``ImageProcessor/process(_:cancellation:)`` throws.
    public func resized(
        height: Double, filter: ImageProcessors.Resize.Filter = .lanczos, allowsUpscaling: Bool = true,
        cancellation: Cancellation? = nil
    ) throws(WebImageError) -> Image {
        try ImageProcessors.Resize(height: height, filter: filter, allowsUpscaling: allowsUpscaling)
            .process(self, cancellation: cancellation)
    }

    /// The part of this picture in a rectangle in points; see ``ImageProcessors/Crop``. Blocks the calling thread.
    ///
    /// - Throws: what ``ImageProcessor/process(_:cancellation:)`` throws.
    public func cropped(to rect: PointRect, cancellation: Cancellation? = nil) throws(WebImageError) -> Image {
        try ImageProcessors.Crop(to: rect).process(self, cancellation: cancellation)
    }

    /// The part of this picture in a rectangle in pixels; see ``ImageProcessors/Crop``. Blocks the calling thread.
    ///
    /// - Throws: what ``ImageProcessor/process(_:cancellation:)`` throws.
    public func cropped(toPixels rect: PixelRect, cancellation: Cancellation? = nil) throws(WebImageError) -> Image {
        try ImageProcessors.Crop(toPixels: rect).process(self, cancellation: cancellation)
    }

    /// This picture with its edges moved; see ``ImageProcessors/Inset``. Blocks the calling thread.
    ///
    /// - Throws: what ``ImageProcessor/process(_:cancellation:)`` throws.
    public func inset(
        by insets: PointInsets, color: Color = .clear, cancellation: Cancellation? = nil
    ) throws(WebImageError) -> Image {
        try ImageProcessors.Inset(by: insets, color: color).process(self, cancellation: cancellation)
    }

    /// This picture with rounded corners; see ``ImageProcessors/RoundedCorners``. Blocks the calling thread.
    ///
    /// - Throws: what ``ImageProcessor/process(_:cancellation:)`` throws.
    public func withRoundedCorners(
        radius: Double, corners: Corners = .all, border: Border? = nil, cancellation: Cancellation? = nil
    ) throws(WebImageError) -> Image {
        try withRoundedCorners(
            radii: CornerRadii(radius, corners: corners), border: border, cancellation: cancellation)
    }

    /// This picture with rounded corners; see ``ImageProcessors/RoundedCorners``. Blocks the calling thread.
    ///
    /// - Throws: what ``ImageProcessor/process(_:cancellation:)`` throws.
    public func withRoundedCorners(
        radii: CornerRadii, border: Border? = nil, cancellation: Cancellation? = nil
    ) throws(WebImageError) -> Image {
        try ImageProcessors.RoundedCorners(radii: radii, border: border).process(self, cancellation: cancellation)
    }

    /// The largest circle in this picture's middle; see ``ImageProcessors/Circle``. Blocks the calling thread.
    ///
    /// - Throws: what ``ImageProcessor/process(_:cancellation:)`` throws.
    public func croppedToCircle(
        border: Border? = nil, cancellation: Cancellation? = nil
    ) throws(WebImageError) -> Image {
        try ImageProcessors.Circle(border: border).process(self, cancellation: cancellation)
    }

    /// This picture turned around its centre; see ``ImageProcessors/Rotate``. Blocks the calling thread.
    ///
    /// - Throws: what ``ImageProcessor/process(_:cancellation:)`` throws.
    public func rotated(
        clockwise angle: Angle, keepsSize: Bool = false, cancellation: Cancellation? = nil
    ) throws(WebImageError) -> Image {
        try ImageProcessors.Rotate(clockwise: angle, keepsSize: keepsSize).process(self, cancellation: cancellation)
    }

    /// This picture mirrored; see ``ImageProcessors/Flip``. Blocks the calling thread.
    ///
    /// - Throws: what ``ImageProcessor/process(_:cancellation:)`` throws.
    public func flipped(
        _ direction: ImageProcessors.Flip.Direction, cancellation: Cancellation? = nil
    ) throws(WebImageError) -> Image {
        try ImageProcessors.Flip(direction).process(self, cancellation: cancellation)
    }

    /// A canvas with this picture in a rectangle; see ``ImageProcessors/DrawInRect``. Blocks the calling thread.
    ///
    /// - Throws: what ``ImageProcessor/process(_:cancellation:)`` throws.
    public func drawn(
        in rect: PointRect, canvas: PointSize, contentMode: ImageContentMode = .scaleToFill, clips: Bool = false,
        background: Color = .clear, cancellation: Cancellation? = nil
    ) throws(WebImageError) -> Image {
        try ImageProcessors.DrawInRect(
            rect: rect, canvas: canvas, contentMode: contentMode, clips: clips, background: background
        ).process(self, cancellation: cancellation)
    }

    /// Another picture with this one in a rectangle of it; blocks the calling thread.
    ///
    /// Each picture keeps its size in points: where their scales differ, this one is brought to the other's. The result has
    /// the other's scale and format, and does not move.
    ///
    /// - Parameter rect: in points from the other picture's left top corner.
    /// - Throws: what ``ImageProcessor/process(_:cancellation:)`` throws.
    public func drawn(
        in rect: PointRect, over other: Image, contentMode: ImageContentMode = .scaleToFill, clips: Bool = false,
        cancellation: Cancellation? = nil
    ) throws(WebImageError) -> Image {
        var result = other
        result.pixels = try ImageProcessors.DrawInRect(
            rect: rect, canvas: other.size, contentMode: contentMode, clips: clips
        ).draw(
            pixels, scale: scale, on: .picture(other.pixels),
            in: ProcessingContext(scale: other.scale, cancellation: cancellation))
        result.data = nil
        result.animation = nil
        result.isTransformed = true
        return result
    }
}
