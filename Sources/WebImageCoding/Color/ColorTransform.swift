/// Turns pixels of one kind into sRGB. It is immutable, and any number of threads may use it at once.
protocol ColorTransform: Sendable {
    /// Converts `pixelCount` pixels of 4 bytes. `source` may be `destination`; otherwise they don't overlap.
    ///
    /// From light (``ColorModel/gray`` and ``ColorModel/rgb``, as RGBA) it reads and writes premultiplied colour and keeps
    /// alpha: colour is divided by it before and multiplied after. From ink it writes opaque pixels.
    func convert(_ source: UnsafePointer<UInt8>, to destination: UnsafeMutablePointer<UInt8>, pixelCount: Int)

    /// The memory its tables take, in bytes.
    var byteCount: Int { get }
}
