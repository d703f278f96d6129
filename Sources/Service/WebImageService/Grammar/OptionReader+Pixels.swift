internal import WebImageCore

extension OptionReader {
    /// The options for the pixels of the result.
    static let pixelOptions: [([String], Option)] = [
        (["auto_rotate", "ar"], flag(\.isUpright)),
        (
            ["rotate", "rot"],
            { reader, arguments throws(Refusal) in
                try arguments.checkCount(1...1)
                guard let degrees = try arguments.integer(0, in: -3600...3600) else { return }
                guard degrees.isMultiple(of: 90) else { throw arguments.invalid(0) }
                reader.recipe.rotation = ((degrees / 90) % 4 + 4) % 4
            }
        ),
        (
            ["flip", "fl"],
            { reader, arguments throws(Refusal) in
                try arguments.checkCount(1...2)
                let flip = Recipe.Flip(
                    horizontal: try arguments.flag(0) ?? false, vertical: try arguments.flag(1) ?? false)
                reader.recipe.flip = flip.horizontal || flip.vertical ? flip : nil
            }
        ),
        (
            ["background", "bg"],
            { reader, arguments throws(Refusal) in
                guard arguments.count != 1 else {
                    // An empty color takes an earlier one back.
                    reader.recipe.background = try arguments.hexColor(0)
                    return
                }
                try arguments.checkCount(3...3)
                var bytes: [Int] = []
                for index in 0..<3 {
                    guard let byte = try arguments.integer(index, in: 0...255) else { throw arguments.invalid(index) }
                    bytes.append(byte)
                }
                reader.recipe.background = Color(bytes: bytes)
            }
        ),
        (["blur", "bl"], deviation(\.blur)), (["sharpen", "sh"], deviation(\.sharpening)),
        (["pixelate", "pix"], integer(\.pixelSize, 0...1024)),
        (
            ["watermark", "wm"],
            { reader, arguments throws(Refusal) in
                try arguments.checkCount(1...5)
                guard let opacity = try arguments.number(0, in: 0...1), opacity > 0 else {
                    reader.recipe.watermark = nil
                    return
                }
                var mark = Recipe.Watermark(opacity: opacity)
                switch arguments.text(1) {
                case nil: break
                case "re": mark.isRepeated = true
                case let side?:
                    guard let place = Placement.sides[side] else { throw arguments.invalid(1) }
                    mark.placement.anchor = .side(x: place.x, y: place.y)
                }
                let range = -Double(longestSide)...Double(longestSide)
                mark.placement.offsetX = try arguments.number(2, in: range) ?? 0
                mark.placement.offsetY = try arguments.number(3, in: range) ?? 0
                mark.scale = try arguments.number(4, in: 0...10) ?? 0
                reader.recipe.watermark = mark
            }
        ),
        (["enforce_thumbnail", "eth"], flag(\.usesEmbeddedThumbnail)),
    ]

    static func flag(_ property: any WritableKeyPath<Recipe, Bool> & Sendable) -> Option {
        { reader, arguments throws(Refusal) in
            try arguments.checkCount(1...1)
            if let value = try arguments.flag(0) { reader.recipe[keyPath: property] = value }
        }
    }

    static func integer(
        _ property: any WritableKeyPath<Recipe, Int> & Sendable, _ range: ClosedRange<Int>
    ) -> Option {
        { reader, arguments throws(Refusal) in
            try arguments.checkCount(1...1)
            if let value = try arguments.integer(0, in: range) { reader.recipe[keyPath: property] = value }
        }
    }

    private static func deviation(_ property: any WritableKeyPath<Recipe, Double> & Sendable) -> Option {
        { reader, arguments throws(Refusal) in
            try arguments.checkCount(1...1)
            if let deviation = try arguments.number(0, in: 0...500) { reader.recipe[keyPath: property] = deviation }
        }
    }
}
