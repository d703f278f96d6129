public import WebImageCore

/// How images are encoded. Options that a format does not have are ignored.
///
/// ```swift
/// let options = EncodingOptions(quality: 0.8, bounds: Thumbnail(.pixels(width: 1600, height: 1600)), byteLimit: 300_000)
/// let jpeg = try CodecRegistry.shared.encode(image, as: .jpeg, options: options)
/// ```
public struct EncodingOptions: Sendable {
    /// The quality of JPEG, of lossy WebP, AVIF, HEIC, JPEG XL and JPEG 2000, 0 (smallest) to 1 (best); clamped. 0.85
    /// by default, at which a JPEG shows no loss at normal distance.
    ///
    /// This is libjpeg's scale, and the other formats but JPEG 2000 look about the same at the same number. The libraries'
    /// own numbers do not: 0.85 is about 0.8 of libaom and 0.5 of x265.
    public var quality: Double {
        didSet { quality = Self.clamped(quality, default: Self.defaultQuality) }
    }
    /// The color behind transparent pixels in JPEG, and behind translucent pixels in GIF; white by default.
    public var background: Color
    /// The box, in pixels, in which the image or each frame is fitted; images are never enlarged. `nil`, the default,
    /// means no limit.
    public var bounds: Thumbnail?
    /// The maximum size of the file in bytes; `nil`, the default, means no limit.
    ///
    /// A file that is too long is encoded again: first with lower quality, down to 0.4, where the format has quality,
    /// then with fewer pixels. That takes up to 16 tries. Below a quality of 0.4 a smaller image looks better; a lower
    /// ``quality`` is used as it is.
    public var byteLimit: Int?
    /// Whether a JPEG is progressive: a few percent shorter, several times slower. Its last step cannot be cancelled.
    /// `false` by default.
    public var isProgressive: Bool
    /// Whether a WebP, AVIF, JPEG XL, JPEG 2000 or HEIC keeps every pixel; ``quality`` is ignored then. `false` by default.
    public var isLossless: Bool
    /// How hard PNG is compressed, 0 (not at all) to 12 (shortest, many times slower than 1); clamped. 4 by default.
    /// These are libdeflate's levels; very large images are compressed by zlib, with 9 at most.
    public var pngLevel = defaultPNGLevel {
        didSet { pngLevel = min(max(pngLevel, 0), 12) }
    }
    /// How hard WebP is compressed, 0 (fast) to 6 (several times slower); clamped. 4 by default. This is libwebp's
    /// method.
    public var webPEffort = 4 {
        didSet { webPEffort = min(max(webPEffort, 0), 6) }
    }
    /// The content for which a lossy WebP is tuned; ``WebPPreset/standard`` by default.
    public var webPPreset = WebPPreset.standard
    /// How fast AVIF, HEIC, JPEG XL and TIFF are encoded, 0 (smallest file, many times slower) to 10 (fast); clamped. 7
    /// by default.
    public var speed = 7 {
        didSet { speed = min(max(speed, 0), 10) }
    }
    /// The sides, in pixels, of the images of an ICO, 1 to 256; the image is fitted in a square of each. Empty, the
    /// default, writes one image of at most 256 pixels.
    public var iconSides: [Int] = []
    /// The EXIF and XMP of the file, in JPEG, PNG, WebP, AVIF, HEIC, JPEG XL, TIFF and JPEG 2000. `nil`, the default,
    /// writes none: an image keeps neither its place nor its camera.
    ///
    /// Pixels are upright sRGB, so what is written says so: the orientation is 1, the color space is sRGB, and the size is
    /// the file's, in EXIF and XMP. An empty ``ImageMetadata`` writes only the orientation. Pass
    /// ``CodecRegistry/metadata(of:limits:cancellation:)`` of the original file to keep all but its thumbnail and what describes a gain map.
    public var metadata: ImageMetadata?
    /// Whether JPEG, WebP and TIFF get a color profile of sRGB. `false` by default: programs take files without one for
    /// sRGB. The other formats name their color space.
    public var writesColorProfile = false
    /// Polled while encoding; set it to stop.
    public var cancellation: Cancellation?

    /// The profile whose colors the pixels have, which JPEG, PNG, WebP, AVIF, HEIC, JPEG XL and TIFF get. `nil`, the
    /// default, for pixels in sRGB. EXIF and XMP keep their color space then. Pixels for other formats are converted first:
    /// ``PixelBuffer/convertedToSRGB(from:cancellation:)``.
    public var colorProfile: ColorProfile?
    /// The meaning of ``quality``. Services that take the numbers of libraries have ``QualityScale/library``; ``QualityScale/look`` by default.
    public var qualityScale = QualityScale.look
    /// Whether a JPEG gets optimized Huffman codes: a little shorter, for a second pass. Progressive ones always do. `false` by default.
    public var optimizesHuffmanCodes = false
    /// The color resolution of a JPEG; ``Chroma/automatic`` by default.
    public var chroma = Chroma.automatic
    /// The gain map of a JPEG or AVIF, which makes the image brighter on an HDR display. `nil`, the default, writes none.
    ///
    /// It is for the whole image that is encoded, and is scaled with it. ``CodecRegistry/gainMap(of:limits:cancellation:)`` reads one. For an
    /// image that was cropped or turned, use ``CodecRegistry/encode(_:processedBy:withGainMapOf:as:options:limits:)``. The other
    /// formats, animations, and a JPEG of transparent pixels do not get it, and neither does a file that would be longer than ``byteLimit``
    /// with it.
    public var gainMap: GainMap?
    /// Whether a still PNG gets a palette if it has at most 256 colors, and otherwise the shorter of two filters: several
    /// times slower. `false` by default.
    public var searchesPNG = false
    /// The filter of PNG rows; ``PNGFilter/adaptive`` by default.
    public var pngFilter = PNGFilter.adaptive
    /// The quality of transparency in a lossy WebP, 0 to 1; clamped. 1, the default, is lossless.
    public var alphaQuality = 1.0 {
        didSet { alphaQuality = Self.clamped(alphaQuality, default: 1) }
    }
    /// How a GIF approximates colors outside its palette; ``Dithering/floydSteinberg`` by default.
    public var dithering = Dithering.floydSteinberg
    /// The palettes of an animated GIF; ``Palette/perFrame`` by default.
    public var palette = Palette.perFrame
    /// The maximum number of colors of a GIF palette, 2 to 256, a transparent one included; clamped. 256 by default.
    public var colorLimit = 256 {
        didSet { colorLimit = min(max(colorLimit, 2), 256) }
    }
    /// How much of each frame an animation stores; ``Framing/changes`` by default.
    public var framing = Framing.changes

    /// Creates options.
    public init(
        quality: Double = 0.85, background: Color = .white, bounds: Thumbnail? = nil, byteLimit: Int? = nil,
        isProgressive: Bool = false, isLossless: Bool = false, cancellation: Cancellation? = nil
    ) {
        self.quality = Self.clamped(quality, default: Self.defaultQuality)
        self.background = background
        self.bounds = bounds
        self.byteLimit = byteLimit
        self.isProgressive = isProgressive
        self.isLossless = isLossless
        self.cancellation = cancellation
    }

    /// Returns a copy with changes.
    func with(_ change: (inout EncodingOptions) -> Void) -> EncodingOptions {
        var copy = self
        change(&copy)
        return copy
    }

    /// Whether ``quality`` has an effect; if so, a file that is too long is encoded with lower quality.
    public func usesQuality(as format: ImageFormat) -> Bool {
        switch format {
        case .gif, .png, .bmp, .ico, .tiff: false
        case .webp, .avif, .heic, .jpegXL, .jpeg2000: !isLossless
        default: true
        }
    }

    /// The profile that a file gets where its format does not name sRGB otherwise.
    public var writtenProfile: [UInt8]? {
        colorProfile?.bytes ?? (writesColorProfile ? ImageMetadata.sRGBProfile : nil)
    }

    static let defaultQuality = 0.85
    static let defaultPNGLevel = 4
    /// See ``byteLimit``.
    static let lowestQuality = 0.4

    private static func clamped(_ quality: Double, default value: Double) -> Double {
        quality.isNaN ? value : min(max(quality, 0), 1)
    }

    /// How much of each frame an animation stores. Frames look the same either way.
    public enum Framing: Codable, Sendable, Hashable {
        /// The rectangle that changes, drawn over the previous frame: small, and what players expect.
        case changes
        /// The whole frame, so that any frame can be shown without the previous ones.
        case whole
    }

    /// The color resolution of a JPEG. Brightness always has full resolution.
    public enum Chroma: String, Codable, Sendable, Hashable, CaseIterable {
        /// 4:2:0 below a quality of 0.9, where its loss is not visible, 4:4:4 from there on.
        case automatic
        /// 4:4:4.
        case full = "444"
        /// 4:2:2.
        case halved = "422"
        /// 4:2:0.
        case quartered = "420"
        /// None: the file is gray.
        case gray
    }

    /// The kinds of content for which libwebp has settings: how much detail is given up where it is not seen, and how strongly the edges of
    /// blocks are smoothed. Quality and effort stay as they are set, and lossless files are the same with all.
    public enum WebPPreset: String, Codable, Sendable, Hashable, CaseIterable {
        /// libwebp's defaults.
        case standard = "default"
        /// A photograph of a person or of things indoors.
        case picture
        /// A photograph outdoors, in natural light.
        case photo
        /// A drawing with lines of high contrast.
        case drawing
        /// A small colorful image.
        case icon
        /// An image of text.
        case text
    }

    /// The filters of PNG rows (W3C PNG, third edition, 9.2).
    public enum PNGFilter: String, Codable, Sendable, Hashable, CaseIterable {
        /// The best filter for each row.
        case adaptive
        /// No filter: best for drawings with few colors.
        case none
        /// The difference from the pixel on the left.
        case sub
        /// The difference from the pixel above.
        case up
        /// The difference from the mean of both.
        case average
        /// The difference from the one of three neighbors that Paeth's function predicts.
        case paeth
    }

    /// How a GIF approximates colors outside its palette. Frames of at most 256 colors are lossless.
    public enum Dithering: String, Codable, Sendable, Hashable, CaseIterable {
        /// Uses the nearest color: shortest, but smooth areas show steps.
        case none
        /// A fixed pattern of 8 by 8 pixels, which does not move between frames and compresses better than
        /// ``floydSteinberg``.
        case ordered
        /// Distributes each pixel's error to its neighbors (Floyd and Steinberg, 1976): closest to the original.
        case floydSteinberg = "floyd-steinberg"
    }

    /// The palettes of an animated GIF.
    public enum Palette: String, Codable, Sendable, Hashable, CaseIterable {
        /// One for each frame, except that frames whose colors fit in one palette share it.
        case perFrame = "frame"
        /// One for all frames, which are decoded twice.
        case global
    }
}
