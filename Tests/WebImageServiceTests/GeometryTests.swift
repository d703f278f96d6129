import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageService

@Suite(.timeLimit(.minutes(1)))
struct GeometryTests {
    /// Of a source of 400 by 200 pixels.
    @Test(arguments: [
        ("rs:fit:100:100", "100x50"), ("rs:fill:100:100", "100x100"), ("rs:force:100:100", "100x100"),
        ("rs:force:100:0", "100x200"), ("rs:force:0:50", "400x50"), ("rs:force:100", "100x200"),
        ("rt:force", "400x200"),
        ("rs:force:800:0:1", "800x200"), ("rs:force:800:0", "400x100"),
        ("rs:auto:200:100", "200x100"), ("rs:auto:100:200", "100x50"), ("w:100", "100x50"), ("h:100", "200x100"),
        ("w:800", "400x200"), ("w:800/el:1", "800x400"), ("rs:fill:800:800", "400x200"),
        ("rs:fill-down:800:800", "200x200"), ("rs:fill-down:100:100", "100x100"), ("rs:fill:800:800:1", "800x800"),
        ("w:100/dpr:2", "200x100"), ("w:300/dpr:2", "400x200"), ("w:100/z:2", "200x100"), ("z:0.5", "200x100"),
        ("rs:force:100:100/z:1:2", "100x200"), ("w:100/mh:100", "100x100"), ("mw:800", "800x400"),
        ("rs:fit:100:100:0:1", "100x100"), ("rs:fit:1000:1000:0:1", "1000x1000"), ("rs:fit:100:100/exar:1", "100x100"),
        ("rs:fit:1000:1000/exar:1", "400x400"), ("w:100/pd:10:20", "140x70"), ("w:100/pd:10/dpr:2", "240x140"),
        ("c:100:100", "100x100"), ("c:0.5:0.5/w:100", "100x50"), ("c:1000:0", "400x200"),
        ("c:100:100/rs:fill:50:20", "50x20"),
        ("", "400x200"), ("w:1/h:1", "1x1"),
        // A side that is 0 stays.
        ("rs:fill-down:800:0", "400x200"), ("rs:fill-down:0:800", "400x200"), ("rs:fill-down:1000:400", "400x160"),
        ("rs:fill-down:800:800:1", "800x800"), ("rs:fill-down:100:20/mw:200", "100x20"),
        // On a canvas, a density below 1 makes everything smaller, also a source that is smaller than it.
        ("rs:fit:800:800:0:1/dpr:0.5", "400x400"), ("rs:fill:800:300/dpr:0.6", "400x200"),
        ("rs:fill:200:150/dpr:0.6", "120x90"), ("pd:5/dpr:0.5", "204x104"), ("c:100.9:50.9", "100x50"),
        // Sides at half a pixel, as imgproxy rounds them.
        ("w:13/dpr:1.5", "19x10"), ("w:26/dpr:1.5", "39x19"), ("w:19/dpr:0.5", "9x5"),
        ("rs:fill-down:1000:333", "400x133"),
    ])
    func sizesFollowFromTheSource(options: String, size: String) throws {
        var reader = OptionReader(presets: Presets([:], isOnlySource: false))
        _ = try reader.readOptions(options.split(separator: "/") + ["plain"])
        let geometry = RecipeGeometry(reader.recipe, source: PixelSize(width: 400, height: 200))
        #expect("\(geometry.padded.width)x\(geometry.padded.height)" == size, "\(geometry)")
        #expect(geometry.decoded.width <= 400 && geometry.decoded.height <= 200)
    }

    /// Only `force` changes the proportions. Of 400 by 200 pixels, before the part for the box is cut out.
    @Test(arguments: [
        ("rs:fit:200:150", "200x100"), ("rs:fill:200:150", "300x150"), ("rs:fill-down:200:150", "300x150"),
        ("rs:auto:200:150", "300x150"), ("rs:auto:200:50", "200x100"), ("rs:auto:150:200", "150x75"),
        ("rs:auto:50:200", "50x25"), ("rs:force:200:150", "200x150"),
    ])
    func typesOfResizingKeepTheProportions(options: String, size: String) throws {
        var reader = OptionReader(presets: Presets([:], isOnlySource: false))
        _ = try reader.readOptions(options.split(separator: "/") + ["plain"])
        let scaled = RecipeGeometry(reader.recipe, source: PixelSize(width: 400, height: 200)).scaled
        #expect("\(scaled.width)x\(scaled.height)" == size)
    }

    /// As with imgproxy's limit, all of a result becomes smaller: 100 pixels, of a source of 400 by 200 pixels.
    @Test(arguments: [
        ("", "100x50", 0.25), ("w:80", "80x40", 1), ("w:1000/el:1", "100x50", 0.1), ("w:1000", "100x50", 0.25),
        ("rs:fill:200:100", "100x50", 0.5), ("rs:force:50:200", "25x100", 0.5), ("mw:800", "100x50", 0.125),
        ("rs:fit:1000:1000:0:1", "100x100", 0.1), ("w:100/pd:50", "100x75", 0.5), ("w:50/dpr:4/pd:0:25", "100x25", 1),
        ("rs:fit:1:20000:0:1", "1x100", 0.005), ("rs:fill:10:10", "10x10", 1),
    ])
    func resultsAreScaledDownToALimit(options: String, size: String, density: Double) throws {
        var reader = OptionReader(presets: Presets([:], isOnlySource: false))
        _ = try reader.readOptions(options.split(separator: "/") + ["plain"])
        let source = PixelSize(width: 400, height: 200)
        let geometry = RecipeGeometry(reader.recipe, source: source, sideLimit: 100)
        #expect("\(geometry.padded.width)x\(geometry.padded.height)" == size, "\(geometry)")
        #expect(abs(geometry.density - density) < 0.001, "\(geometry.density)")
        #expect(geometry.decoded.width <= 400 && geometry.decoded.height <= 200)
    }

    /// Rounding makes no result a pixel too long.
    @Test func noResultExceedsTheLimit() throws {
        var random = SplitMix64(seed: 1)
        let types: [Recipe.Resizing] = [.fit, .fill, .fillDown, .force, .auto]
        for _ in 0..<2000 {
            var recipe = Recipe()
            recipe.resizing = types.randomElement(using: &random) ?? .fit
            recipe.width = .random(in: 0...500, using: &random)
            recipe.height = .random(in: 0...500, using: &random)
            recipe.minWidth = .random(in: 0...99, using: &random)
            recipe.enlarges = .random(using: &random)
            recipe.density = .random(in: 0.1...10, using: &random)
            if Bool.random(using: &random) { recipe.extension = .init() }
            if Bool.random(using: &random) { recipe.ratioExtension = .init() }
            recipe.padding.left = .random(in: 0...50, using: &random)
            recipe.padding.right = .random(in: 0...50, using: &random)
            let source = PixelSize(
                width: .random(in: 1...1000, using: &random), height: .random(in: 1...1000, using: &random))
            let limit = Int.random(in: 1...300, using: &random)
            let size = RecipeGeometry(recipe, source: source, sideLimit: limit).padded
            #expect(max(size.width, size.height) <= limit, "\(size) \(limit) \(recipe) \(source)")
        }
    }

    @Test(arguments: [
        ("nowe", 0, 0), ("no", 30, 0), ("noea", 60, 0), ("we", 0, 16), ("ce", 30, 16), ("ea", 60, 16),
        ("sowe", 0, 30), ("so", 30, 30), ("soea", 60, 30),
    ])
    func sidesPlaceWhatIsInside(side: String, x: Int, y: Int) throws {
        let anchor = try #require(Placement.sides[side])
        var placement = Placement(anchor: .side(x: anchor.x, y: anchor.y))
        let (inner, outer) = (PixelSize(width: 40, height: 20), PixelSize(width: 100, height: 50))
        #expect(placement.origin(of: inner, in: outer) == (x, y))
        // Offsets count inwards from the right and from below.
        (placement.offsetX, placement.offsetY) = (5, 0.1)
        let moved = placement.origin(of: inner, in: outer)
        #expect(moved.x == (anchor.x == 1 ? x - 5 : x + 5) && moved.y == (anchor.y == 1 ? y - 5 : y + 5))
        (placement.offsetX, placement.offsetY) = (500, 500)
        let far = placement.origin(of: inner, in: outer)
        #expect((0...60).contains(far.x) && (0...30).contains(far.y))
    }

    @Test func aFocusPointBecomesTheCenterWherePossible() {
        let (inner, outer) = (PixelSize(width: 20, height: 20), PixelSize(width: 100, height: 100))
        func origin(_ x: Double, _ y: Double) -> (x: Int, y: Int) {
            Placement(anchor: .focus(x: x, y: y)).origin(of: inner, in: outer)
        }
        #expect(origin(0.5, 0.25) == (40, 15))
        #expect(origin(0, 1) == (0, 80))
    }
}
