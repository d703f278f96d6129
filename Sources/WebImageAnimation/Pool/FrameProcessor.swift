public import WebImageCore
public import WebImageProcessing

/// What is done to each frame of an animation after it is decoded, such as rounding its corners.
public struct FrameProcessor: Sendable {
    /// Changes a frame; it runs on a thread for such work, for one frame of a pool at a time. What it throws is reported
    /// for that frame, which is then not shown.
    public typealias Process = @Sendable (PixelBuffer, Cancellation?) throws(WebImageError) -> PixelBuffer

    /// Tells processors apart: two with the same one make the same of every frame, so that their players share frames. It
    /// has to name every parameter.
    public let identifier: String
    /// Changes a frame.
    public let process: Process

    /// Makes a processor.
    public init(identifier: String, process: @escaping Process) {
        self.identifier = identifier
        self.process = process
    }

    /// What `processor` does to pixels.
    ///
    /// - Parameter scale: pixels in a point of the image, for lengths that the processor has in points.
    public init(_ processor: some PixelProcessor, scale: Double = 1) {
        self.init(identifier: "\(processor.identifier)@\(scale)") { pixels, cancellation throws(WebImageError) in
            try processor.process(pixels, in: ProcessingContext(scale: scale, cancellation: cancellation))
        }
    }
}
