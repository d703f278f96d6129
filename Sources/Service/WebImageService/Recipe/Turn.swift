internal import WebImageCore
internal import WebImageProcessing

/// How a decoded image is turned. Decoded images are upright.
struct Turn {
    let processors: [ImageProcessor]
    /// Whether width and height are exchanged.
    let swapsSides: Bool

    /// - Parameter orientation: of the file, which is restored if the recipe does not want upright images.
    init(_ recipe: Recipe, orientation: ImageOrientation) {
        var processors: [ImageProcessor] = []
        var swaps = false
        if !recipe.isUpright {
            processors = Self.restoring(orientation)
            swaps = orientation.swapsSides
        }
        if recipe.rotation > 0 {
            processors.append(.rotate(degrees: Double(recipe.rotation * 90)))
            if recipe.rotation % 2 == 1 { swaps.toggle() }
        }
        if let flip = recipe.flip {
            processors.append(.flip(horizontally: flip.horizontal, vertically: flip.vertical))
        }
        (self.processors, swapsSides) = (processors, swaps)
    }

    func applied(to size: PixelSize) -> PixelSize {
        swapsSides ? PixelSize(width: size.height, height: size.width) : size
    }

    /// Turns an upright image to how its file stores it.
    private static func restoring(_ orientation: ImageOrientation) -> [ImageProcessor] {
        switch orientation {
        case .up: []
        case .upMirrored: [.flip(horizontally: true)]
        case .down: [.rotate(degrees: 180)]
        case .downMirrored: [.flip(vertically: true)]
        case .leftMirrored: [.rotate(degrees: 90), .flip(horizontally: true)]
        case .right: [.rotate(degrees: 270)]
        case .rightMirrored: [.rotate(degrees: 90), .flip(vertically: true)]
        case .left: [.rotate(degrees: 90)]
        }
    }
}
