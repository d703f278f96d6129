import Testing
import WebImageCore

@testable import WebImageDrawing

@Suite(.timeLimit(.minutes(3))) struct TextTests {
    private let font = Font("DejaVu Sans", size: 20)

    @Test func inkHasTheExpectedBounds() throws {
        // In DejaVu Sans an H is 0.729 of the font's size high, and stands on the line, 0.928 below the top (its
        // ascent).
        let image = try Image(size: PointSize(width: 60, height: 60), scale: 2) { context in
            context.draw(StyledText("H", font: font, color: .black), at: Point(x: 10, y: 15))
        }
        let ink = try #require(inkBox(of: image))
        let baseline = (15 + 20 * 0.928) * 2
        #expect(abs(Double(ink.y + ink.height) - baseline) <= 1.5)
        #expect(abs(Double(ink.height) - 20 * 0.729 * 2) <= 2)
        #expect(ink.x >= 20 && ink.x < 26)
    }

    @Test func imageHasTheSizeOfTheText() throws {
        let text = StyledText("Quay, Ég", font: font)
        let size = try text.size()
        let image = try Image(text: text, scale: 3)
        #expect(abs(image.size.width - size.width) < 1 && abs(image.size.height - size.height) < 1)
        let ink = try #require(inkBox(of: image))
        #expect(Double(ink.width) > size.width * 3 * 0.9 && Double(ink.height) > size.height * 3 * 0.6)
    }

    @Test func slantedGlyphsAreNotCutOff() throws {
        let text = StyledText("ff", font: Font("DejaVu Serif", size: 40, isItalic: true))
        let image = try Image(text: text)
        let roomy = try Image(size: PointSize(width: 200, height: 200)) { $0.draw(text, at: Point(x: 80, y: 80)) }
        #expect(abs(coverage(of: image) - coverage(of: roomy)) < coverage(of: roomy) * 0.02)
    }

    @Test func theLinesDoNotDependOnTheScale() throws {
        let text = StyledText(
            "The quick brown fox jumps over the lazy dog", font: font, alignment: .justified, wrappingWidth: 120)
        let size = try text.size()
        #expect(size.width <= 120 && size.height > 60)
        let small = try Image(text: text)
        let large = try Image(text: text, scale: 4)
        #expect(abs(Double(large.height) / 4 - Double(small.height)) <= 1)
        #expect(abs(coverage(of: large) / 16 - coverage(of: small)) < coverage(of: small) * 0.02)
    }

    @Test func hasTheColor() throws {
        let color = Color(red: 0.2, green: 0.4, blue: 1)
        let image = try Image(text: StyledText("██", font: font, color: color))
        #expect(image.pixels[image.width / 2, image.height / 2] == SIMD4(51, 102, 255, 255))
    }

    @Test func alignsLines() throws {
        func left(_ alignment: StyledText.Alignment) throws -> Int {
            let text = StyledText("i", font: font, alignment: alignment, wrappingWidth: 100)
            let image = try Image(size: PointSize(width: 100, height: 40)) { $0.draw(text, at: Point(x: 0, y: 0)) }
            return try #require(inkBox(of: image)).x
        }
        #expect(try left(.leading) < 10 && (40..<60).contains(left(.center)) && left(.trailing) > 90)
    }

    @Test func rightToLeftBeginsAtTheRight() throws {
        let text = StyledText("א", font: font, wrappingWidth: 100)
        let image = try Image(size: PointSize(width: 100, height: 40)) { $0.draw(text, at: Point(x: 0, y: 0)) }
        #expect(try #require(inkBox(of: image)).x > 70)
    }

    @Test func limitsLines() throws {
        var text = StyledText(String(repeating: "word ", count: 50), font: font, wrappingWidth: 150, lineLimit: 2)
        let two = try text.size().height
        text.lineLimit = 1
        #expect(try abs(text.size().height * 2 - two) < 1)
        text.lineLimit = nil
        #expect(try text.size().height > two * 4)
    }

    @Test func weightsDiffer() throws {
        var bold = font
        bold.weight = 700
        let light = try Image(text: StyledText("weight", font: font))
        let heavy = try Image(text: StyledText("weight", font: bold))
        #expect(coverage(of: heavy) > coverage(of: light) * 1.2)
        bold.weight = 99_999_999
        _ = try Image(text: StyledText("weight", font: bold))
    }

    @Test func anEmptyTextHasTheHeightOfItsLine() throws {
        let image = try Image(text: StyledText("", font: font))
        #expect(image.width == 1 && image.height > 20 && coverage(of: image) == 0)
    }

    @Test(arguments: [
        "a\u{0}b", "\u{200F}\u{202E}x", "\u{FFFF}", "\r\n\r\n", "👩‍👩‍👧‍👦", String(repeating: "\n", count: 100), "𓀀𝔘",
    ])
    func anyTextIsDrawn(string: String) throws {
        _ = try Image(text: StyledText(string, font: Font("No such family, \u{0}", size: 9)))
    }

    @Test func rejectsTextsThatAreTooLong() {
        let long = StyledText(String(repeating: "x", count: 200_000), font: font)
        #expect(
            throws: WebImageError.drawing(
                .invalidParameter(name: "text", value: "200000 bytes long; at most 12500 can be laid out"))
        ) {
            try Image(text: long)
        }
        #expect(throws: WebImageError.self) { try Image(text: StyledText("x", font: Font(size: 20_000))) }
        #expect(throws: WebImageError.self) { try Image(text: StyledText("x", font: Font(size: 0))) }
        #expect(throws: WebImageError.self) { try Image(text: StyledText("x", font: Font(size: 1e-9))) }
        #expect(throws: WebImageError.self) { try Image(text: StyledText("x", font: font), scale: .nan) }
    }

    @Test(arguments: [(1e-9, 1e-9), (1, 1e-6), (1e-300, 1)])
    func textTransformedToNothingIsNotDrawn(x: Double, y: Double) throws {
        let text = StyledText("Ab", font: font)
        let image = try Image(size: PointSize(width: 9, height: 9)) { context in
            context.scale(x: x, y: y)
            context.draw(text, at: Point(x: 0, y: 0))
        }
        #expect(coverage(of: image) == 0)
        #expect(coverage(of: try Image(text: text)) > 0)
    }

    @Test func rejectsTextTransformedToInvalidSizes() throws {
        #expect(throws: WebImageError.self) {
            try Image(size: PointSize(width: 9, height: 9)) { context in
                context.scale(x: 1_000, y: 1)
                context.draw(StyledText("Ab", font: font), at: Point(x: 0, y: 0))
            }
        }
    }

    @Test func longLinesAreMeasuredWithoutOverflow() throws {
        let text = StyledText(String(repeating: "W", count: 12_000), font: font)
        #expect(try text.size().width > 200_000)
        #expect(throws: WebImageError.self) { try Image(text: text) }
    }
}

@Suite(.timeLimit(.minutes(3))) struct EmojiTests {
    @Test(arguments: ["😀", "❤", "❤️", "🇩🇪", "👍🏽", "👩‍🚒", "1️⃣", "⭐"])
    func fillsItsSquareWithColors(emoji: String) throws {
        let image = try Image(emoji: emoji, size: 40, scale: 2)
        #expect(image.pixels.size == PixelSize(width: 80, height: 80) && image.scale == 2)
        let ink = try #require(inkBox(of: image))
        // The images of the font have a margin.
        #expect(max(ink.width, ink.height) >= 66)
        #expect(abs(ink.x * 2 + ink.width - 80) <= 6 && abs(ink.y * 2 + ink.height - 80) <= 6)
        var colors = Set<SIMD4<UInt8>>()
        for y in 0..<80 { for x in 0..<80 { colors.insert(image.pixels[x, y] & 0xF0) } }
        #expect(colors.contains { $0.w == 0xF0 && ($0.x != $0.y || $0.y != $0.z) })
    }

    @Test func hasTheRightChannels() throws {
        let heart = try Image(emoji: "❤", size: 20)
        let pixel = heart.pixels[10, 10]
        #expect(pixel.x > 180 && pixel.y < 120 && pixel.z < 120)
    }

    @Test(arguments: ["", "a", "7", "😀😀", "é", "\u{0}", "\u{FE0F}"])
    func rejectsOtherTexts(text: String) {
        #expect(throws: WebImageError.drawing(.invalidParameter(name: "emoji", value: "'\(text.prefix(50))'"))) {
            try Image(emoji: text, size: 10)
        }
    }

    @Test(arguments: [0, -1, Double.nan, .infinity, 40_000])
    func rejectsInvalidSizes(size: Double) {
        #expect(throws: WebImageError.self) { try Image(emoji: "😀", size: size) }
    }
}

/// The bounding box of pixels that are not clear.
private func inkBox(of image: Image) -> (x: Int, y: Int, width: Int, height: Int)? {
    let columns = (0..<image.width).filter { x in (0..<image.height).contains { image.pixels[x, $0].w > 20 } }
    let rows = (0..<image.height).filter { y in (0..<image.width).contains { image.pixels[$0, y].w > 20 } }
    guard let left = columns.first, let right = columns.last, let top = rows.first, let bottom = rows.last else {
        return nil
    }
    return (left, top, right - left + 1, bottom - top + 1)
}
