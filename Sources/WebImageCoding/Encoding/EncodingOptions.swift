public import WebImageCore

/// How a picture is written.
///
/// What only one format has is in the part named after it, and means nothing to the others.
public struct EncodingOptions: Sendable {
    /// For lossy formats, 0 (smallest) to 1 (best); 0.85 by default, where a JPEG shows no loss at normal distance.
    /// A value outside is brought inside.
    public var quality: Double {
        didSet { quality = Self.usable(quality) }
    }
    /// What lies behind transparent pixels in a format without alpha, and behind translucent ones in GIF, where a pixel is
    /// there or not; white by default, as on paper.
    public var background: Color
    /// How much of each frame an animation's file holds.
    public var framing: Framing
    /// What JPEG alone has.
    public var jpeg: JPEG
    /// What PNG alone has.
    public var png: PNG
    /// What WebP alone has.
    public var webP: WebP
    /// What GIF alone has.
    public var gif: GIF
    /// Polled while encoding; set it to stop.
    public var cancellation: Cancellation?

    /// Makes options.
    public init(
        quality: Double = defaultQuality, background: Color = .white, framing: Framing = .changes, jpeg: JPEG = JPEG(),
        png: PNG = PNG(), webP: WebP = WebP(), gif: GIF = GIF(), cancellation: Cancellation? = nil
    ) {
        self.quality = Self.usable(quality)
        self.background = background
        self.framing = framing
        self.jpeg = jpeg
        self.png = png
        self.webP = webP
        self.gif = gif
        self.cancellation = cancellation
    }

    /// 0.85.
    public static let defaultQuality = 0.85

    static func usable(_ quality: Double) -> Double {
        quality.isNaN ? defaultQuality : min(max(quality, 0), 1)
    }

    /// How much of each frame an animation's file holds. Every frame looks the same either way.
    public enum Framing: Sendable, Hashable {
        /// The rectangle that changes, on what the frame before leaves (blended or not, cleared first or not, whatever is
        /// less). Small, and what players expect.
        case changes
        /// All of it, in place of what was there: any frame can be shown without those before.
        case whole
    }
}

extension EncodingOptions {
    /// How a JPEG is written.
    public struct JPEG: Sendable, Hashable {
        /// Whether it comes in scans, each finer than the last, so that all of it can be shown early. A few percent
        /// shorter, several times slower; `false` by default. Its last step can't be cancelled.
        public var isProgressive: Bool
        /// Whether its Huffman codes are made for the picture, a little shorter for a second pass over it; `false` by
        /// default. A progressive one always has its own.
        public var optimizesHuffmanCodes: Bool
        /// How much of the colour is kept.
        public var chroma: Chroma

        /// Makes options.
        public init(
            isProgressive: Bool = false, optimizesHuffmanCodes: Bool = false, chroma: Chroma = .automatic
        ) {
            self.isProgressive = isProgressive
            self.optimizesHuffmanCodes = optimizesHuffmanCodes
            self.chroma = chroma
        }

        /// For how many pixels a colour is kept; brightness always is for each.
        public enum Chroma: String, Sendable, Hashable, CaseIterable {
            /// 4:2:0 below a quality of 0.9, where its loss is not seen, 4:4:4 from there on.
            case automatic
            /// For each pixel (4:4:4).
            case full = "444"
            /// For two side by side (4:2:2).
            case halved = "422"
            /// For a square of four (4:2:0).
            case quartered = "420"
        }
    }

    /// How a PNG is written; all ways keep every pixel.
    public struct PNG: Sendable, Hashable {
        /// 0 (not compressed) to 12 (shortest, many times slower than 1); 4 by default. A value outside is
        /// brought inside. These are libdeflate's levels; the largest pictures, which zlib compresses, get 9 at most.
        public var level: Int {
            didSet { level = Self.usable(level) }
        }
        /// What is done to a row before it is compressed.
        public var filter: Filter

        /// Makes options.
        public init(level: Int = defaultLevel, filter: Filter = .adaptive) {
            self.level = Self.usable(level)
            self.filter = filter
        }

        /// 4.
        public static let defaultLevel = 4

        private static func usable(_ level: Int) -> Int { min(max(level, 0), 12) }

        /// What a row is compared with (W3C PNG, third edition, 9.2).
        public enum Filter: String, Sendable, Hashable, CaseIterable {
            /// Whatever leaves the least, for each row.
            case adaptive
            /// Nothing: best for drawings of few colours.
            case none
            /// The pixel to the left.
            case sub
            /// The pixel above.
            case up
            /// The mean of both.
            case average
            /// Whichever of three neighbours is nearest to a guess.
            case paeth
        }
    }

    /// How a WebP is written.
    public struct WebP: Sendable, Hashable {
        /// Whether every pixel is kept; ``EncodingOptions/quality`` means nothing then. `false` by default.
        public var isLossless: Bool
        /// 0 (fast) to 6 (short, several times slower); 4 by default. A value outside is brought inside. It is libwebp's
        /// method.
        public var effort: Int {
            didSet { effort = Self.usable(effort) }
        }
        /// Of transparency in a lossy picture, 0 to 1; 1, the default, keeps all of it. A value outside is brought inside.
        public var alphaQuality: Double {
            didSet { alphaQuality = Self.usable(alphaQuality) }
        }

        /// Makes options.
        public init(isLossless: Bool = false, effort: Int = defaultEffort, alphaQuality: Double = 1) {
            self.isLossless = isLossless
            self.effort = Self.usable(effort)
            self.alphaQuality = Self.usable(alphaQuality)
        }

        /// 4.
        public static let defaultEffort = 4

        private static func usable(_ effort: Int) -> Int { min(max(effort, 0), 6) }
        private static func usable(_ quality: Double) -> Double { quality.isNaN ? 1 : min(max(quality, 0), 1) }
    }

    /// How a GIF is written. One of at most 256 colours a frame loses nothing.
    public struct GIF: Sendable, Hashable {
        /// How colours that the palette lacks are made up.
        public var dithering: Dithering
        /// How many palettes there are.
        public var palette: Palette
        /// The most colours of a palette, 2 to 256, a transparent one included; 256 by default. A value outside is brought
        /// inside.
        public var colorLimit: Int {
            didSet { colorLimit = Self.usable(colorLimit) }
        }

        /// Makes options.
        public init(
            dithering: Dithering = .floydSteinberg, palette: Palette = .perFrame, colorLimit: Int = 256
        ) {
            self.dithering = dithering
            self.palette = palette
            self.colorLimit = Self.usable(colorLimit)
        }

        private static func usable(_ limit: Int) -> Int { min(max(limit, 2), 256) }

        /// How colours that the palette lacks are made up of those that it has.
        public enum Dithering: String, Sendable, Hashable, CaseIterable {
            /// They are not: each pixel gets the nearest. Shortest; smooth areas show steps.
            case none
            /// By a fixed pattern of 8 by 8 pixels: it does not move from frame to frame, and compresses better than
            /// ``floydSteinberg``.
            case ordered
            /// Each pixel's error goes to its neighbours (Floyd and Steinberg, 1976). Nearest to the original, seen from
            /// afar.
            case floydSteinberg = "floyd-steinberg"
        }

        /// How many palettes an animation has.
        public enum Palette: String, Sendable, Hashable, CaseIterable {
            /// One for each frame, but for those that together have no more colours than one holds.
            case perFrame = "frame"
            /// One, made of all frames: they are decoded twice.
            case global
        }
    }
}

/// How large a file may become.
public struct EncodingLimits: Sendable, Hashable {
    /// The box, in pixels, in which the picture or each frame is fitted; never made larger. `nil`, the default, for any size.
    public var bounds: Thumbnail?
    /// The most bytes of the file; `nil`, the default, for any number. A value below 1 can't be met.
    ///
    /// A picture that takes more is tried again: first with less quality, where the format has it, down to
    /// ``EncodingLimits/lowestQuality``; the best that is short enough is taken. Where even that is too long, or quality
    /// means nothing, with fewer pixels, by as much as the last try was too long. That takes 16 tries at most, and an
    /// animation as many times as long as one.
    public var byteCount: Int?

    /// Makes limits; without any by default.
    public init(bounds: Thumbnail? = nil, byteCount: Int? = nil) {
        self.bounds = bounds
        self.byteCount = byteCount
    }

    /// 0.4: below, a smaller picture looks better than a worse one. A lower quality that is asked for stays as it is.
    public static let lowestQuality = 0.4
}
