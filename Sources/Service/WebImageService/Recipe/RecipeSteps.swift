internal import WebImageCore
internal import WebImageProcessing

/// The processors of a recipe, for a source of one size that was decoded at the same or at a smaller one.
struct RecipeSteps {
    /// A watermark, which is drawn over the result.
    struct Mark {
        let image: Image
        /// Names the image in identifiers.
        let id: String
        /// 0 to 1, of which the option's is a share.
        let opacity: Double
    }

    private(set) var processors: [ImageProcessor] = []
    private let recipe: Recipe
    private let geometry: RecipeGeometry

    /// - Parameters:
    ///   - turn: what turns the decoded image.
    ///   - source: the size of the turned source.
    ///   - decoded: the size of the turned image that was decoded.
    init(
        _ recipe: Recipe, _ geometry: RecipeGeometry, turn: Turn, source: PixelSize, decoded: PixelSize, mark: Mark?,
        cancellation: Cancellation?
    ) throws(WebImageError) {
        (self.recipe, self.geometry) = (recipe, geometry)
        processors = turn.processors
        addCrop(source: source, decoded: decoded)
        addScale(from: geometry.crop == source ? decoded : nil)
        if geometry.kept != geometry.scaled { add(recipe.placement, geometry.kept, geometry.scaled) }
        addEffects()
        addCanvas(recipe.extension, from: geometry.kept, to: geometry.extended)
        addCanvas(recipe.ratioExtension, from: geometry.extended, to: geometry.proportioned)
        if geometry.padded != geometry.proportioned {
            let padding = geometry.padding
            addMargins(padding.top, padding.left, padding.bottom, padding.right)
        }
        if let background = recipe.background {
            processors.append(.letterbox(to: Self.target(geometry.padded), color: background))
        }
        if let watermark = recipe.watermark, let mark { try add(watermark, mark, cancellation) }
    }

    private static func target(_ size: PixelSize) -> TargetSize { .pixels(width: size.width, height: size.height) }

    private mutating func addCrop(source: PixelSize, decoded: PixelSize) {
        guard geometry.crop != source else { return }
        // The source may have been decoded at a smaller size.
        let (across, down) = (
            Double(decoded.width) / Double(source.width), Double(decoded.height) / Double(source.height)
        )
        // A pixel less, because of the last bits of a factor, would have the part enlarged again.
        let least = decoded == source ? PixelSize(width: 1, height: 1) : geometry.scaled
        let size = PixelSize(
            width: min(decoded.width, max(least.width, Int((Double(geometry.crop.width) * across).rounded()))),
            height: min(decoded.height, max(least.height, Int((Double(geometry.crop.height) * down).rounded()))))
        let placement = recipe.crop?.placement ?? recipe.placement
        guard placement.anchor != .smart else { return add(placement, size, decoded) }
        // The place is one of the source, where offsets and the center are whole pixels, so that it is rounded once.
        let (x, y) = placement.origin(of: geometry.crop, in: source)
        let left = min(Int((Double(x) * across).rounded()), decoded.width - size.width)
        let top = min(Int((Double(y) * down).rounded()), decoded.height - size.height)
        processors.append(.crop(toPixels: PixelRect(x: left, y: top, width: size.width, height: size.height)))
    }

    /// - Parameter size: that of the image now; `nil` if it is not known to be the right one.
    private mutating func addScale(from size: PixelSize?) {
        if size == geometry.scaled { return }
        processors.append(.resize(to: Self.target(geometry.scaled), mode: .stretch))
    }

    /// Crops.
    private mutating func add(_ placement: Placement, _ part: PixelSize, _ whole: PixelSize) {
        guard placement.anchor != .smart else { return processors.append(.crop(to: part, gravity: .smart)) }
        let (x, y) = placement.origin(of: part, in: whole, density: geometry.density)
        processors.append(.crop(toPixels: PixelRect(x: x, y: y, width: part.width, height: part.height)))
    }

    private mutating func addEffects() {
        if recipe.blur > 0 { processors.append(.gaussianBlur(deviation: recipe.blur)) }
        if recipe.sharpening > 0 { processors.append(.sharpen(deviation: recipe.sharpening)) }
        if recipe.pixelSize > 1 { processors.append(.pixelate(side: recipe.pixelSize)) }
    }

    private mutating func addCanvas(_ extension: Recipe.Extension?, from size: PixelSize, to canvas: PixelSize) {
        guard let `extension`, size != canvas else { return }
        let (x, y) = `extension`.placement.origin(of: size, in: canvas, density: geometry.density)
        addMargins(y, x, canvas.height - size.height - y, canvas.width - size.width - x)
    }

    private mutating func addMargins(_ top: Int, _ left: Int, _ bottom: Int, _ right: Int) {
        processors.append(
            .inset(
                top: -Double(top), left: -Double(left), bottom: -Double(bottom), right: -Double(right),
                color: recipe.background ?? .clear))
    }

    private mutating func add(
        _ watermark: Recipe.Watermark, _ mark: Mark, _ cancellation: Cancellation?
    ) throws(WebImageError) {
        let canvas = geometry.padded
        let natural = mark.image.pixels.size
        let size = watermark.size(of: natural, on: geometry)
        var image = mark.image
        if size != natural {
            image = try image.processed(
                by: [.resize(to: Self.target(size), mode: .stretch)], cancellation: cancellation)
        }
        var (x, y) = (0, 0)
        if watermark.isRepeated {
            // Offsets are the gaps then.
            let (place, density) = (watermark.placement, geometry.density)
            let gapX = Placement.distance(abs(place.offsetX), of: canvas.width, density: density)
            let gapY = Placement.distance(abs(place.offsetY), of: canvas.height, density: density)
            image = Image(
                pixels: try image.pixels.tiled(over: canvas, gapX: gapX, gapY: gapY, cancellation: cancellation))
        } else {
            (x, y) = watermark.placement.origin(of: size, in: canvas, density: geometry.density, mayLeave: true)
        }
        processors.append(
            .blend(
                image, id: "\(mark.id) \(size) \(watermark)", x: Double(x), y: Double(y),
                opacity: watermark.opacity * mark.opacity))
    }
}

extension Recipe.Watermark {
    /// Returns the size at which a mark is drawn.
    func size(of natural: PixelSize, on geometry: RecipeGeometry) -> PixelSize {
        let canvas = geometry.padded
        // A share of the result, or its own size at each density.
        func side(_ length: Int) -> Double { max(1, (scale * Double(length)).rounded(.toNearestOrEven)) }
        let factor =
            scale > 0
            ? min(side(canvas.width) / Double(natural.width), side(canvas.height) / Double(natural.height)) : 1
        return PixelSize(
            width: max(1, Int((Double(natural.width) * factor).rounded())),
            height: max(1, Int((Double(natural.height) * factor).rounded())))
    }
}

extension PixelBuffer {
    /// Returns an image of a size that is covered with these pixels, and gaps between them. A tile is in its center, with half of the gaps on
    /// each side.
    fileprivate func tiled(
        over canvas: PixelSize, gapX: Int, gapY: Int, cancellation: Cancellation?
    ) throws(WebImageError) -> PixelBuffer {
        var output = try MutablePixelBuffer(width: canvas.width, height: canvas.height)
        let (stepX, stepY) = (width + gapX, height + gapY)
        let (startX, startY) = (
            Self.start(canvas.width, step: stepX, gap: gapX), Self.start(canvas.height, step: stepY, gap: gapY)
        )
        let bytesPerRow = output.bytesPerRow
        try output.withUnsafeMutableBytes { (bytes) throws(WebImageError) in
            for y in 0..<canvas.height {
                try cancellation?.check()
                let line = UnsafeMutableRawBufferPointer(rebasing: bytes[y * bytesPerRow..<(y + 1) * bytesPerRow])
                line.initializeMemory(as: UInt8.self, repeating: 0)
                let ownY = (y - startY) % stepY
                guard ownY < height else { continue }
                for x in stride(from: startX, to: canvas.width, by: stepX) {
                    let (first, end) = (max(x, 0), min(x + width, canvas.width))
                    guard first < end else { continue }
                    UnsafeMutableRawBufferPointer(rebasing: line[(first * 4)..<(end * 4)])
                        .copyMemory(
                            from: UnsafeRawBufferPointer(start: row(ownY) + (first - x) * 4, count: (end - first) * 4))
                }
            }
        }
        return output.freeze(isOpaque: false)
    }

    /// Returns where the first tile begins, at or before 0. An odd number of tiles is centered.
    private static func start(_ length: Int, step: Int, gap: Int) -> Int {
        let count = (length + step - 1) / step | 1
        let start = gap / 2 - (count * step - length) / 2
        return start > 0 ? start - step : start
    }
}
