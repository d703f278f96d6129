internal import WebImageCore

extension OptionReader {
    /// The longest side that a URL can name, and of pixels; ``ImageService/Limits`` have a lower limit.
    static let longestSide = PixelSize.maximumDimension
    private static let sides = 0...longestSide

    /// The options for the size of the result.
    static let sizeOptions: [([String], Option)] = [
        (
            ["resize", "rs"],
            { reader, arguments throws(Refusal) in
                try arguments.checkCount(1...8)
                if let type = try arguments.word(0, Recipe.Resizing.self) { reader.recipe.resizing = type }
                try reader.readSize(arguments.dropFirst(1))
            }
        ),
        (
            ["size", "s"],
            { reader, arguments throws(Refusal) in
                try arguments.checkCount(1...7)
                try reader.readSize(arguments)
            }
        ),
        (
            ["resizing_type", "rt"],
            { reader, arguments throws(Refusal) in
                try arguments.checkCount(1...1)
                if let type = try arguments.word(0, Recipe.Resizing.self) { reader.recipe.resizing = type }
            }
        ),
        (["width", "w"], integer(\.width, sides)), (["height", "h"], integer(\.height, sides)),
        (["min-width", "min_width", "mw"], integer(\.minWidth, sides)),
        (["min-height", "min_height", "mh"], integer(\.minHeight, sides)),
        (
            ["zoom", "z"],
            { reader, arguments throws(Refusal) in
                try arguments.checkCount(1...2)
                if let zoom = try arguments.number(0, in: 0.0001...1000) {
                    (reader.recipe.zoomX, reader.recipe.zoomY) = (zoom, zoom)
                }
                if let zoom = try arguments.number(1, in: 0.0001...1000) { reader.recipe.zoomY = zoom }
            }
        ),
        (
            ["dpr"],
            { reader, arguments throws(Refusal) in
                try arguments.checkCount(1...1)
                if let density = try arguments.number(0, in: 0.1...10) { reader.recipe.density = density }
            }
        ),
        (["enlarge", "el"], flag(\.enlarges)),
        (["extend", "ex"], extending(\.extension)),
        (["extend_aspect_ratio", "extend_ar", "exar"], extending(\.ratioExtension)),
        (
            ["gravity", "g"],
            { reader, arguments throws(Refusal) in
                if let placement = try arguments.placement(allowsSmart: true) { reader.recipe.placement = placement }
            }
        ),
        (
            ["crop", "c"],
            { reader, arguments throws(Refusal) in
                try arguments.checkCount(1...5)
                let longest = Double(longestSide)
                let width = try arguments.number(0, in: 0...longest) ?? 0
                let height = try arguments.number(1, in: 0...longest) ?? 0
                let rest = arguments.dropFirst(2)
                reader.recipe.crop = Recipe.Crop(
                    width: width, height: height,
                    placement: rest.count > 0 ? try rest.placement(allowsSmart: true) : nil)
            }
        ),
        (
            ["trim", "t"],
            { reader, arguments throws(Refusal) in
                try arguments.checkCount(1...4)
                guard let tolerance = try arguments.number(0, in: 0...255) else {
                    // Without it, nothing is trimmed, so the others would have no effect.
                    guard arguments.count == 1 else { throw arguments.invalid(0) }
                    return
                }
                var trim = Recipe.Trim(tolerance: Int(tolerance), color: try arguments.hexColor(1))
                trim.symmetry.horizontal = try arguments.flag(2) ?? false
                trim.symmetry.vertical = try arguments.flag(3) ?? false
                reader.recipe.trim = trim
            }
        ),
        (
            ["padding", "pd"],
            { reader, arguments throws(Refusal) in
                try arguments.checkCount(1...4)
                // As in CSS: a missing side is the opposite one.
                let top = try arguments.integer(0, in: sides) ?? 0
                let right = try arguments.integer(1, in: sides) ?? top
                reader.recipe.padding = Recipe.Padding(
                    top: top, right: right, bottom: try arguments.integer(2, in: sides) ?? top,
                    left: try arguments.integer(3, in: sides) ?? right)
            }
        ),
    ]

    private static func extending(_ property: any WritableKeyPath<Recipe, Recipe.Extension?> & Sendable) -> Option {
        { reader, arguments throws(Refusal) in
            try arguments.checkCount(1...4)
            try reader.readExtension(arguments, property)
        }
    }

    private mutating func readExtension(
        _ arguments: OptionArguments, _ property: WritableKeyPath<Recipe, Recipe.Extension?>
    ) throws(Refusal) {
        guard let extends = try arguments.flag(0) else { return }
        let place = arguments.dropFirst(1)
        recipe[keyPath: property] =
            extends
            ? Recipe.Extension(placement: try (place.count > 0 ? place.placement(allowsSmart: false) : nil) ?? .center)
            : nil
    }

    /// Reads width, height, enlarge, extend, and the placement on the extended canvas.
    private mutating func readSize(_ arguments: OptionArguments) throws(Refusal) {
        if let width = try arguments.integer(0, in: Self.sides) { recipe.width = width }
        if let height = try arguments.integer(1, in: Self.sides) { recipe.height = height }
        if let enlarges = try arguments.flag(2) { recipe.enlarges = enlarges }
        if arguments.count > 3 { try readExtension(arguments.dropFirst(3), \.extension) }
    }
}

extension OptionArguments {
    /// Reads a gravity with its offsets; `nil` for an empty one.
    func placement(allowsSmart: Bool) throws(Refusal) -> Placement? {
        try checkCount(1...3)
        guard let type = text(0) else { return nil }
        if type == "fp" {
            guard let x = try number(1, in: 0...1), let y = try number(2, in: 0...1) else { throw invalid(0) }
            return Placement(anchor: .focus(x: x, y: y))
        }
        if type == "sm" {
            guard allowsSmart, count == 1 else { throw invalid(0) }
            return Placement(anchor: .smart)
        }
        guard let side = Placement.sides[type] else { throw invalid(0) }
        let range = -Double(OptionReader.longestSide)...Double(OptionReader.longestSide)
        return Placement(
            anchor: .side(x: side.x, y: side.y), offsetX: try number(1, in: range) ?? 0,
            offsetY: try number(2, in: range) ?? 0)
    }
}

extension Placement {
    /// The sides and corners by their names in URLs.
    static let sides: [String: (x: Double, y: Double)] = [
        "ce": (0.5, 0.5), "no": (0.5, 0), "so": (0.5, 1), "ea": (1, 0.5), "we": (0, 0.5), "noea": (1, 0),
        "nowe": (0, 0), "soea": (1, 1), "sowe": (0, 1),
    ]
}
