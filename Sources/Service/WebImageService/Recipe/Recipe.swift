internal import WebImageCore
internal import WebImageProcessing

/// The instructions for making a result: everything that its bytes depend on, besides the source and the formats that the client takes.
struct Recipe: Sendable, Hashable {
    enum Resizing: String, Sendable, Hashable {
        case fit, fill, fillDown = "fill-down", force, auto
    }

    /// A canvas that is larger than the image.
    struct Extension: Sendable, Hashable {
        var placement = Placement.center
    }

    struct Crop: Sendable, Hashable {
        /// In pixels of the source, below 1 as a share of it, or 0 for all of it.
        var width, height: Double
        /// `nil` for that of the recipe.
        var placement: Placement?
    }

    struct Trim: Sendable, Hashable {
        var tolerance: Int
        var color: Color?
        var symmetry = TrimSymmetry()
    }

    struct Padding: Sendable, Hashable {
        var top = 0, right = 0, bottom = 0, left = 0
    }

    struct Flip: Sendable, Hashable {
        var horizontal, vertical: Bool
    }

    struct Watermark: Sendable, Hashable {
        var opacity: Double
        var placement = Placement.center
        /// Whether it covers the image like tiles.
        var isRepeated = false
        /// Its longest extent as a share of the image's; 0 for its own size.
        var scale = 0.0
    }

    /// Limits below those of the service; `nil` for these.
    struct Limits: Sendable, Hashable {
        var pixelCount, framePixelCount: Int?
        var sourceByteCount, frameCount, resultSide: Int?
    }

    enum Output: Sendable, Hashable {
        case format(ImageFormat)
        /// The shortest file among the formats that the client takes.
        case best
    }

    // Size.
    var resizing = Resizing.fit
    /// 0 for a side that follows from the other one; with ``Resizing/force``, for one that stays as it is.
    var width = 0, height = 0
    var minWidth = 0, minHeight = 0
    var zoomX = 1.0, zoomY = 1.0
    /// Pixels for each pixel that the URL names; `nil` if neither the URL nor the client says how many.
    var density: Double?
    var enlarges = false
    var `extension`: Extension?
    var ratioExtension: Extension?
    var placement = Placement.center
    var crop: Crop?
    var trim: Trim?
    var padding = Padding()

    // Pixels.
    var isUpright = true
    /// Clockwise, in quarters.
    var rotation = 0
    var flip: Flip?
    var background: Color?
    var blur = 0.0, sharpening = 0.0
    var pixelSize = 0
    var watermark: Watermark?
    var usesEmbeddedThumbnail = false

    var limits = Limits()

    // File.
    /// `nil` for that of the client's choice, or of the source.
    var output: Output?
    /// 1 to 100; 0 for that of the format. Takes precedence over ``formatQualities``, as in imgproxy.
    var quality = 0
    var formatQualities: [String: Int] = [:]
    var byteLimit = 0
    /// The bound that lossy formats without a quality must meet.
    var qualityBound: ImageService.QualityBound?
    /// Formats that are sent as they are.
    var skippedFormats: Set<String> = []
    var isRaw = false
    var stripsMetadata = true
    var keepsCopyright = false
    var stripsProfile = true
    var keepsGainMap = true
    /// Anything: it makes another result of the same recipe.
    var cacheBuster = ""

    /// A text that no other recipe has.
    var key: String {
        var copy = self
        // Sets and dictionaries have no order.
        copy.skippedFormats = []
        copy.formatQualities = [:]
        copy.qualityBound?.formatQualities = [:]
        let qualities = formatQualities.map { "\($0)=\($1)" }.sorted()
        let bounds = (qualityBound?.formatQualities ?? [:]).map { "\($0.name)=\($1)" }.sorted()
        return "\(copy) \(skippedFormats.sorted()) \(qualities) \(bounds)"
    }
}

/// How a result is sent, which does not change its bytes.
struct Delivery: Sendable, Hashable {
    /// Without its extension; `nil` for that of the source.
    var fileName: String?
    var isAttachment = false
    /// In seconds since 1970.
    var expires: Int?
}
