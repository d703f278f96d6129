internal import FoundationEssentials
internal import WebImageCore

/// The whole frames of an animated WebP.
struct WebPAnimationFile: AnimationFile {
    private let file: WebPFile
    private let data: Data
    let parts: [FramePart]
    let orientation: ImageOrientation
    private let damage: DecodingOptions.Damage

    /// - Parameter data: the bytes in which `file` was found.
    init(_ file: WebPFile, in data: Data, damage: DecodingOptions.Damage) {
        self.file = file
        self.data = data
        parts = file.frames.map(\.part)
        orientation = file.orientation
        self.damage = damage
    }

    var format: ImageFormat { .webp }
    var canvasSize: PixelSize { file.size }
    var loopCount: Int { file.loopCount ?? 0 }
    var isComplete: Bool { file.isComplete(at: data.count) }
    var byteCount: Int { data.count }

    /// Each frame may be lossless.
    func workingByteCount(of size: PixelSize) -> Int {
        WebPPictureDecoder.workingByteCount(of: size, isLossless: true, hasAlpha: false)
    }

    func pixels(ofPart index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
        let content = file.frames[index].content
        let decoder = try WebPPictureDecoder(size: parts[index].size, byteCount: content.count)
        try data.bytes.extracting(content).withUnsafeBytes { (bytes) throws(WebImageError) in
            try decoder.decode(bytes, cancellation: cancellation)
        }
        // A damaged first frame makes a still of the file: see ``WebPDecoder``.
        return try decoder.finish(damage: index == 0 ? .refuse : damage, cancellation: cancellation).pixels
    }
}
