import Foundation
import WebImageCoding
import WebImageCore
import WebImageProcessing

@testable import WebImageDrawing

/// Generates Documentation/Processing.md, which shows the result of each processor. `make pictures` writes it. Add a
/// new processor to ``entries``.
enum ProcessingPage {
    struct Entry: Sendable {
        let title: String
        /// The call to show.
        let code: String
        let make: @Sendable (Image) throws -> Image

        /// - Parameter code: an array of processors.
        init(_ title: String, _ code: String, _ processors: [ImageProcessor]) {
            self.init(title, code) { try $0.processed(by: processors) }
        }

        init(_ title: String, _ code: String, make: @escaping @Sendable (Image) throws -> Image) {
            self.title = title
            self.code = code
            self.make = make
        }

        /// Such as `processing-rounded-corners.jpg`.
        var fileName: String {
            let words = title.lowercased().split { !$0.isLetter && !$0.isNumber }
            return "processing-\(words.joined(separator: "-")).jpg"
        }
    }

    static let entries: [Entry] = geometry + colors + blurs + blends + drawings

    private static let geometry: [Entry] = [
        Entry("Resize", "[.resize(to: .points(width: 90))]", [.resize(to: .points(width: 90))]),
        Entry(
            "Fill and crop", "[.resize(toFill: .points(width: 110, height: 110))]",
            [.resize(toFill: .points(width: 110, height: 110))]),
        Entry(
            "Letterbox", "[.letterbox(to: .points(width: 110, height: 110), color: .black)]",
            [.letterbox(to: .points(width: 110, height: 110), color: .black)]),
        Entry("Crop", "[.crop(toPoints: rect)]", [.crop(toPoints: PointRect(x: 90, y: 10, width: 80, height: 60))]),
        Entry("Inset", "[.inset(14)]", [.inset(14)]),
        Entry(
            "Outset", "[.inset(-10, color: .white)]", [.inset(-10, color: .white)]),
        Entry("Rounded corners", "[.roundedCorners(radius: 20)]", [.roundedCorners(radius: 20)]),
        Entry(
            "Two corners with a border",
            "[.roundedCorners(topLeft: 30, bottomRight: 30, border: border)]",
            [.roundedCorners(topLeft: 30, bottomRight: 30, border: Border(width: 4, color: violet))]),
        Entry("Circle", "[.circle(border: border)]", [.circle(border: Border(width: 4, color: .white))]),
        Entry("Rotate", "[.rotate(degrees: 12)]", [.rotate(degrees: 12)]),
        Entry(
            "Rotate within its size", "[.rotate(degrees: 12, keepsSize: true)]",
            [.rotate(degrees: 12, keepsSize: true)]),
        Entry("Quarter turn", "[.rotate(degrees: 90)]", [.rotate(degrees: 90)]),
        Entry("Flip horizontally", "[.flip(horizontally: true)]", [.flip(horizontally: true)]),
        Entry("Flip vertically", "[.flip(vertically: true)]", [.flip(vertically: true)]),
        Entry(
            "Draw in a rectangle", "[.draw(in: rect, canvas: size, contentMode: .scaleAspectFit)]",
            [
                .draw(
                    in: PointRect(x: 20, y: 10, width: 140, height: 60), canvas: PointSize(width: 180, height: 120),
                    contentMode: .scaleAspectFit)
            ]),
    ]

    private static let colors: [Entry] = [
        Entry("Grayscale", "[.grayscale()]", [.grayscale()]),
        Entry("Sepia", "[.sepia()]", [.sepia()]),
        Entry("Inverted", "[.inverted()]", [.inverted()]),
        Entry("Saturation", "[.color(saturation: 2)]", [.color(saturation: 2)]),
        Entry("Brightness", "[.color(brightness: 0.25)]", [.color(brightness: 0.25)]),
        Entry("Contrast", "[.color(contrast: 1.6)]", [.color(contrast: 1.6)]),
        Entry("Tint", "[.tint(violet)]", [.mask(Path(ellipseIn: frame)), .tint(violet)]),
        Entry("Tint by multiplying", "[.tint(violet, mode: .multiply)]", [.tint(violet, mode: .multiply)]),
        Entry("Tint its hue", "[.tint(violet, mode: .hue)]", [.tint(violet, mode: .hue)]),
    ]

    private static let blurs: [Entry] = [
        Entry("Blur", "[.blur(radius: 8)]", [.blur(radius: 8)]),
        Entry("Soft glass", "[.blur(.soft)]", [.blur(.soft)]),
        Entry("Light glass", "[.blur(.light)]", [.blur(.light)]),
        Entry("Extra light glass", "[.blur(.extraLight)]", [.blur(.extraLight)]),
        Entry("Dark glass", "[.blur(.dark)]", [.blur(.dark)]),
        Entry("Tinted glass", "[.blur(.tinted(violet))]", [.blur(.tinted(violet))]),
        Entry("Glass with a mask", "[.blur(.dark, mask: panel)]") { image in
            try image.processed(by: [.blur(.dark, mask: panel())])
        },
    ]

    private static let blends: [Entry] = [
        Entry("Watermark", "[.overlay(emoji, opacity: 0.8)]") { image in
            try image.processed(by: [.overlay(Image(emoji: "🏔️", size: 40), opacity: 0.8)])
        },
        Entry("Two images by screening", "[.blend(drawing, mode: .screen)]") { image in
            try image.processed(by: [.blend(drawing(), mode: .screen)])
        },
        Entry("Two images by multiplying", "[.blend(drawing, mode: .multiply)]") { image in
            try image.processed(by: [.blend(drawing(), mode: .multiply)])
        },
        Entry("Two images by difference", "[.blend(drawing, mode: .difference)]") { image in
            try image.processed(by: [.blend(drawing(), mode: .difference)])
        },
        Entry("Mask by an image", "[.mask(emoji, usesAlpha: true)]") { image in
            try image.processed(by: [.mask(Image(emoji: "🏔️", size: 100), usesAlpha: true)])
        },
    ]

    private static let drawings: [Entry] = [
        Entry("Mask", "[.mask(Path(ellipseIn: rect))]", [.mask(Path(ellipseIn: frame))]),
        Entry("Inverted mask", "[.mask(star, isInverted: true)]", [.mask(star, isInverted: true)]),
        Entry(
            "Draw a caption", #"[.draw(id: "caption") { context, size in … }]"#,
            [.draw(id: "caption") { context, size in caption(context, size) }]),
        Entry("Text to image", "Image(text: StyledText(…))") { _ in try text() },
        Entry("Emoji to image", #"Image(emoji: "🏔️", size: 100)"#) { _ in try Image(emoji: "🏔️", size: 100) },
        Entry("Drawing", "Image(size: size) { context in … }") { _ in try drawing() },
        Entry("BlurHash", "BlurHash(of: image, components: (6, 5)).image(width: 180, height: 120)") { image in
            try BlurHash(of: image, components: (6, 5)).image(width: 180, height: 120)
        },
        Entry("ThumbHash", "ThumbHash(of: image).image(longestSide: 180)") { image in
            try ThumbHash(of: image).image(longestSide: 180)
        },
    ]

    static let sourceFileName = "processing-source.jpg"

    static var markdown: String {
        let columns = 3
        let cells = entries.map { "![\($0.title)](Images/\($0.fileName))<br>**\($0.title)**<br>`\($0.code)`" }
        let rows = stride(from: 0, to: cells.count, by: columns).map { start in
            let row = cells[start..<min(start + columns, cells.count)]
            return "| " + (row + Array(repeating: "", count: columns - row.count)).joined(separator: " | ") + " |"
        }
        return """
            # Image processors

            The result of each processor for this image of 180 by 120 points. Squares show transparency.

            ![Before](Images/\(sourceFileName))

            |   |   |   |
            |---|---|---|
            \(rows.joined(separator: "\n"))

            ## How this page is made

            `make pictures` generates this page and its images from the table in
            [ProcessingPage.swift](../Tests/WebImageDrawingTests/ProcessingPage.swift), which the tests run, too. The project draws the image itself.

            """
    }

    /// A result as a file; squares stand for transparency.
    static func jpeg(of image: Image) throws -> Data {
        let shown = try Image(size: image.size, scale: image.scale, isOpaque: true) { context in
            context.fill(with: .color(.white))
            let gray = Color(red: 0.86, green: 0.86, blue: 0.86)
            for row in 0..<Int(image.size.height / 6 + 1) {
                for column in 0..<Int(image.size.width / 6 + 1) where (row + column) % 2 == 0 {
                    let square = PointRect(x: Double(column) * 6, y: Double(row) * 6, width: 6, height: 6)
                    context.fill(Path(square), with: .color(gray))
                }
            }
            context.draw(image, at: Point(x: 0, y: 0))
        }
        return try CodecRegistry.builtIn.encode(shown, as: .jpeg)
    }

    // MARK: Contents

    private static let violet = Color(red: 0.55, green: 0.25, blue: 0.75)

    /// White in the lower third.
    private static func panel() throws -> Image {
        try Image(size: PointSize(width: 180, height: 120), isOpaque: true) { context in
            context.fill(with: .color(.black))
            context.fill(Path(PointRect(x: 0, y: 80, width: 180, height: 40)), with: .color(.white))
        }
    }

    private static let frame = PointRect(x: 0, y: 0, width: 180, height: 120)

    private static let star = Path(
        polygon: (0..<10).map { index in
            let angle = Double(index) * .pi / 5 - .pi / 2
            let radius = index % 2 == 0 ? 56.0 : 24
            return Point(x: 90 + radius * cos(angle), y: 62 + radius * sin(angle))
        })

    private static func caption(_ context: borrowing DrawingContext, _ size: PointSize) {
        let band = PointRect(x: 0, y: size.height - 28, width: size.width, height: 28)
        context.fill(Path(band), with: .color(Color(red: 0, green: 0, blue: 0, alpha: 0.5)))
        let text = StyledText("Evening at the lake", font: Font("DejaVu Sans", size: 14), color: .white)
        context.draw(text, at: Point(x: 10, y: size.height - 23))
    }

    private static func text() throws -> Image {
        let text = StyledText(
            "Text in every script:\nالعربية · עברית · Ελληνικά", font: Font("DejaVu Sans", size: 14, weight: 700),
            color: Color(red: 0.16, green: 0.3, blue: 0.62), alignment: .center, wrappingWidth: 180)
        return try Image(text: text)
    }

    private static func drawing() throws -> Image {
        try Image(size: PointSize(width: 180, height: 120)) { context in
            let stops: [(Double, Color)] = [
                (0, Color(red: 1, green: 0.8, blue: 0.3)),
                (1, Color(red: 0.9, green: 0.2, blue: 0.4)),
            ]
            let box = Path(PointRect(x: 12, y: 12, width: 156, height: 96), cornerRadius: 20)
            context.fill(box, with: .linearGradient(from: Point(x: 0, y: 0), to: Point(x: 180, y: 120), stops: stops))
            context.stroke(
                box, with: .color(Color(red: 0.3, green: 0.1, blue: 0.3)),
                width: 3, cap: .round, dashes: [10, 7])
        }
    }
}

/// A lake before mountains at sunset: the source image of the page.
enum Landscape {
    static let size = PointSize(width: 180, height: 120)

    static func image() throws -> Image {
        try Image(size: size, isOpaque: true) { context in
            sky(context)
            mountains(context, peaks: [(0, 52), (28, 30), (52, 46), (86, 20), (118, 44), (146, 26), (180, 50)], haze)
            mountains(context, peaks: [(0, 66), (40, 48), (74, 62), (112, 46), (150, 64), (180, 56)], slopes)
            lake(context)
            tree(context, x: 24, base: 104, height: 46)
            tree(context, x: 40, base: 108, height: 30)
        }
    }

    private static let haze = Color(red: 0.48, green: 0.42, blue: 0.58)
    private static let slopes = Color(red: 0.2, green: 0.24, blue: 0.38)
    private static let glow = Color(red: 1, green: 0.85, blue: 0.45)

    private static func sky(_ context: borrowing DrawingContext) {
        let stops: [(Double, Color)] = [
            (0, Color(red: 0.16, green: 0.3, blue: 0.62)),
            (0.5, Color(red: 0.95, green: 0.55, blue: 0.4)), (1, glow),
        ]
        context.fill(with: .linearGradient(from: Point(x: 0, y: 0), to: Point(x: 0, y: 80), stops: stops))
        let sun = Point(x: 128, y: 40)
        let clear = Color(red: 1, green: 0.9, blue: 0.6, alpha: 0)
        let light: [(Double, Color)] = [(0, .white), (0.25, glow), (1, clear)]
        context.fill(with: .radialGradient(center: sun, innerRadius: 6, outerRadius: 50, stops: light))
    }

    private static func mountains(_ context: borrowing DrawingContext, peaks: [(Double, Double)], _ color: Color) {
        let line = peaks.map { Point(x: $0.0, y: $0.1) }
        context.fill(Path(polygon: line + [Point(x: 180, y: 84), Point(x: 0, y: 84)]), with: .color(color))
    }

    private static func lake(_ context: borrowing DrawingContext) {
        let stops: [(Double, Color)] = [
            (0, Color(red: 0.75, green: 0.5, blue: 0.5)),
            (1, Color(red: 0.1, green: 0.2, blue: 0.4)),
        ]
        context.withSavedState {
            context.clip(to: Path(PointRect(x: 0, y: 76, width: 180, height: 44)))
            context.fill(with: .linearGradient(from: Point(x: 0, y: 76), to: Point(x: 0, y: 120), stops: stops))
            for index in 0..<9 {
                var wave = Path()
                let (y, reach) = (80 + Double(index) * 4.5, 10 + Double(index) * 2)
                wave.move(to: Point(x: 128 - reach, y: y))
                wave.line(to: Point(x: 128 + reach, y: y))
                let shine = Color(red: 1, green: 0.9, blue: 0.6, alpha: 0.55)
                context.stroke(
                    wave, with: .color(shine), width: 1.2, cap: .round, dashes: [7, 4, 12, 3])
            }
        }
    }

    private static func tree(_ context: borrowing DrawingContext, x: Double, base: Double, height: Double) {
        for layer in 0..<3 {
            let top = base - height + Double(layer) * height / 5
            let half = height / 8 * (1 + Double(layer) * 0.6)
            let green = Color(red: 0.06, green: 0.2 + 0.05 * Double(layer), blue: 0.16)
            let points = [
                Point(x: x, y: top), Point(x: x + half, y: top + height / 2), Point(x: x - half, y: top + height / 2),
            ]
            context.fill(Path(polygon: points), with: .color(green))
        }
        let trunk = PointRect(x: x - 1.5, y: base - height / 8, width: 3, height: height / 8)
        context.fill(Path(trunk), with: .color(Color(red: 0.25, green: 0.15, blue: 0.1)))
    }
}
