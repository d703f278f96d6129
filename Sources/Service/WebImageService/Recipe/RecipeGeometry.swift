internal import WebImageCore

/// The sizes of a recipe's steps, for a source of one size. Sizes are those after the source was turned.
///
///     source ─► crop ─► scale ─► crop to the box ─► extend ─► extend to the proportions ─► pad
struct RecipeGeometry {
    /// The part of the source that is used.
    let crop: PixelSize
    /// The size to which that part is scaled.
    let scaled: PixelSize
    /// The size of the part of it that is kept.
    let kept: PixelSize
    /// The canvases; each is at least as large as the one before.
    let extended, proportioned, padded: PixelSize
    /// How many pixels of the result stand for one that the URL names.
    let density: Double
    /// The size to which the whole source can be decoded: large enough for `scaled`.
    let decoded: PixelSize
    let padding: Recipe.Padding

    /// - Parameter sideLimit: the longest side of the result, to which everything is scaled down; 0 for any.
    init(_ recipe: Recipe, source: PixelSize, sideLimit: Int = 0) {
        var factor = 1.0
        self.init(recipe, source: source, factor: factor)
        // Sides are rounded, so a result may be a pixel too long again.
        while sideLimit > 0, case let longest = max(padded.width, padded.height), longest > sideLimit {
            factor *= Double(sideLimit) / Double(longest)
            self = RecipeGeometry(recipe, source: source, factor: factor)
        }
    }

    /// - Parameter factor: scales the result.
    private init(_ recipe: Recipe, source: PixelSize, factor: Double) {
        crop = Self.crop(recipe.crop, of: source)
        let wanted = Self.scale(recipe, of: crop)
        let (across, down, density) = (wanted.x * factor, wanted.y * factor, wanted.density * factor)
        self.density = density
        scaled = PixelSize(width: Self.length(crop.width, across), height: Self.length(crop.height, down))
        let box = PixelSize(
            width: recipe.width > 0 ? Self.length(recipe.width, recipe.zoomX * density) : 0,
            height: recipe.height > 0 ? Self.length(recipe.height, recipe.zoomY * density) : 0)
        kept = Self.kept(of: scaled, in: box, isDownOnly: recipe.resizing == .fillDown && !recipe.enlarges)
        var size = kept
        if recipe.extension != nil {
            size = PixelSize(width: max(size.width, box.width), height: max(size.height, box.height))
        }
        extended = size
        if recipe.ratioExtension != nil { size = Self.extended(size, toProportionsOf: box) }
        proportioned = size
        func scaledPadding(_ side: Int) -> Int { Int((Double(side) * density).rounded(.toNearestOrEven)) }
        padding = Recipe.Padding(
            top: scaledPadding(recipe.padding.top), right: scaledPadding(recipe.padding.right),
            bottom: scaledPadding(recipe.padding.bottom), left: scaledPadding(recipe.padding.left))
        padded = PixelSize(
            width: size.width + padding.left + padding.right, height: size.height + padding.top + padding.bottom)
        let largest = max(across, down)
        // The last bits of a factor add no pixel, with which the image would have to be scaled again.
        func decodedLength(_ length: Int) -> Int {
            min(length, max(1, Int((Double(length) * largest - 1e-6).rounded(.up))))
        }
        decoded =
            largest >= 1
            ? source
            : crop == source && across == down
                ? scaled
                : PixelSize(width: decodedLength(source.width), height: decodedLength(source.height))
    }

    private static func length(_ length: Int, _ scale: Double) -> Int {
        max(1, Int(min((Double(length) * scale).rounded(), 1e9)))
    }

    private static func crop(_ crop: Recipe.Crop?, of source: PixelSize) -> PixelSize {
        func length(_ part: Double, _ whole: Int) -> Int {
            part == 0 ? whole : min(whole, part < 1 ? max(1, Int((part * Double(whole)).rounded())) : Int(part))
        }
        guard let crop else { return source }
        return PixelSize(width: length(crop.width, source.width), height: length(crop.height, source.height))
    }

    /// The factors for the sides, and how many pixels then stand for one that the URL names.
    ///
    /// It computes how many pixels of the source one of the result is, in the order in which imgproxy does: a side that is half a pixel too
    /// long is then rounded in the same direction.
    private static func scale(_ recipe: Recipe, of size: PixelSize) -> (x: Double, y: Double, density: Double) {
        let across = recipe.width > 0 ? Double(size.width) / Double(recipe.width) : nil
        let down = recipe.height > 0 ? Double(size.height) / Double(recipe.height) : nil
        let isSameDirection = (size.width >= size.height) == (recipe.width >= recipe.height)
        let shrinks: (x: Double, y: Double) =
            switch (across, down) {
            case (nil, nil): (1, 1)
            // A side that is not named stays as it is.
            case (let across?, nil) where recipe.resizing == .force: (across, 1)
            case (nil, let down?) where recipe.resizing == .force: (1, down)
            case (let across?, nil): (across, across)
            case (nil, let down?): (down, down)
            case (let across?, let down?):
                switch recipe.resizing {
                case .force: (across, down)
                case .fill, .fillDown: (min(across, down), min(across, down))
                case .auto where isSameDirection: (min(across, down), min(across, down))
                case .auto, .fit: (max(across, down), max(across, down))
                }
            }
        var (x, y, density) = (shrinks.x / recipe.zoomX, shrinks.y / recipe.zoomY, recipe.density ?? 1)
        if !recipe.enlarges {
            let least = min(x, y)
            if least < 1 {
                (x, y) = (x / least, y / least)
                // The source is smaller than wanted, so that a density below 1 need not make it smaller still. On a canvas it does: the
                // composition stays.
                if recipe.extension == nil { density /= least }
            }
            density = min(density, x, y)
        }
        func lower(_ length: Int, _ minimum: Int, _ shrink: inout Double, _ other: inout Double) {
            let largest = Double(length) / Double(minimum)
            guard minimum > 0, shrink > largest else { return }
            (shrink, other) = (largest, other / (shrink / largest))
        }
        lower(size.width, recipe.minWidth, &x, &y)
        lower(size.height, recipe.minHeight, &y, &x)
        return (1 / (x / density), 1 / (y / density), density)
    }

    /// - Parameter isDownOnly: whether the box shrinks with its proportions, if the image is smaller.
    private static func kept(of size: PixelSize, in box: PixelSize, isDownOnly: Bool) -> PixelSize {
        var part = PixelSize(
            width: box.width > 0 ? box.width : size.width, height: box.height > 0 ? box.height : size.height)
        // A side that is not named does not shrink.
        let (across, down) = (Double(box.width) / Double(size.width), Double(box.height) / Double(size.height))
        if isDownOnly, across > down, across > 1 {
            part.width = size.width
            if box.height > 0 { part.height = length(size.width, Double(box.height) / Double(box.width)) }
        } else if isDownOnly, down > across, down > 1 {
            part.height = size.height
            if box.width > 0 { part.width = length(size.height, Double(box.width) / Double(box.height)) }
        }
        return PixelSize(width: min(size.width, part.width), height: min(size.height, part.height))
    }

    private static func extended(_ size: PixelSize, toProportionsOf box: PixelSize) -> PixelSize {
        guard box.width > 0, box.height > 0 else { return size }
        return PixelSize(
            width: max(size.width, length(size.height, Double(box.width) / Double(box.height))),
            height: max(size.height, length(size.width, Double(box.height) / Double(box.width))))
    }
}
