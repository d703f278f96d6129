public import WebImageCore

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
}
