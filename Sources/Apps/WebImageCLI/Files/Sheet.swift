internal import FoundationEssentials
internal import WebImage
internal import WebImageCore

/// Where the images of a contact sheet are.
struct SheetLayout: Sendable, Equatable {
    let cell: PixelSize
    let columns: Int
    let rows: Int
    let gap: Int
    /// The height of a name below its image, in pixels; 0 without names.
    let labelHeight: Int

    static let fontSize = 13

    /// - Parameter columns: `nil` for a sheet of some 4:3.
    init(count: Int, cell: PixelSize, columns: Int?, gap: Int, hasNames: Bool) {
        labelHeight = hasNames ? Self.fontSize * 3 / 2 : 0
        let (width, height) = (Double(cell.width + gap), Double(cell.height + labelHeight + gap))
        let suitable = Int((Double(count) * 4 / 3 * height / width).squareRoot().rounded(.up))
        self.columns = min(max(1, count), columns ?? max(1, suitable))
        rows = (max(1, count) + self.columns - 1) / self.columns
        self.cell = cell
        self.gap = gap
    }

    /// That of the sheet.
    var size: PixelSize {
        PixelSize(width: gap + columns * (cell.width + gap), height: gap + rows * (cell.height + labelHeight + gap))
    }

    /// The rectangle of an image, in pixels.
    func cell(at index: Int) -> PixelRect {
        PixelRect(
            x: gap + index % columns * (cell.width + gap),
            y: gap + index / columns * (cell.height + labelHeight + gap), width: cell.width, height: cell.height)
    }
}

/// The pixels of a contact sheet.
struct Sheet: ~Copyable {
    private let layout: SheetLayout
    private var pixels: MutablePixelBuffer
    private let isOpaque: Bool

    init(layout: SheetLayout, color: Color) throws(WebImageError) {
        self.layout = layout
        isOpaque = color.alpha == 1
        pixels = try MutablePixelBuffer(width: layout.size.width, height: layout.size.height)
        func byte(_ value: Double) -> UInt8 { UInt8((min(1, max(0, value)) * 255).rounded()) }
        let filling = SIMD4(
            byte(color.red * color.alpha), byte(color.green * color.alpha), byte(color.blue * color.alpha),
            byte(color.alpha))
        pixels.withUnsafeMutableBytes { bytes in
            bytes.bindMemory(to: SIMD4<UInt8>.self).update(repeating: filling)
        }
    }

    /// Draws an image in the middle of a cell.
    mutating func draw(_ image: PixelBuffer, at index: Int) {
        let cell = layout.cell(at: index)
        draw(image, x: cell.x + (cell.width - image.width) / 2, y: cell.y + (cell.height - image.height) / 2)
    }

    mutating func draw(label: PixelBuffer, at index: Int) {
        let cell = layout.cell(at: index)
        draw(label, x: cell.x, y: cell.y + cell.height)
    }

    /// Blends premultiplied pixels.
    private mutating func draw(_ image: PixelBuffer, x: Int, y: Int) {
        let size = layout.size
        guard let area = PixelRect(x: x, y: y, width: image.width, height: image.height).clamped(to: size) else {
            return
        }
        pixels.withUnsafeMutableBytes { bytes in
            let pixels = bytes.bindMemory(to: SIMD4<UInt8>.self)
            for row in area.y..<area.y + area.height {
                for column in area.x..<area.x + area.width {
                    let source = image[column - x, row - y]
                    if source.w == 0 { continue }
                    let place = row * size.width + column
                    guard source.w < 255 else {
                        pixels[place] = source
                        continue
                    }
                    let behind = SIMD4<UInt32>(truncatingIfNeeded: pixels[place]) &* (255 - UInt32(source.w))
                    let blended = SIMD4<UInt32>(truncatingIfNeeded: source) &+ (behind &+ 127) / 255
                    pixels[place] = SIMD4<UInt8>(truncatingIfNeeded: pointwiseMin(blended, .init(repeating: 255)))
                }
            }
        }
    }

    consuming func finished() throws(WebImageError) -> PixelBuffer { pixels.freeze(isOpaque: isOpaque) }
}

/// Draws names with the SVG decoder, which has the system's fonts.
struct SheetLabels: Sendable {
    let size: PixelSize
    /// As in SVG.
    let color: String
    let codecs: CodecRegistry

    /// `nil` for a sheet without names.
    init?(of layout: SheetLayout, on color: Color, codecs: CodecRegistry) {
        guard layout.labelHeight > 0 else { return nil }
        size = PixelSize(width: layout.cell.width, height: layout.labelHeight)
        let luma = 0.2126 * color.red + 0.7152 * color.green + 0.0722 * color.blue
        self.color = color.alpha < 0.5 || luma > 0.5 ? "#222222" : "#dddddd"
        self.codecs = codecs
    }

    /// Returns a name in the middle of a label. Blocks the calling thread.
    func label(_ name: String) throws(WebImageError) -> PixelBuffer {
        let text = Self.shortened(name, toWidth: Double(size.width) / (Double(SheetLayout.fontSize) * 0.56))
        let svg = """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(size.width)" height="\(size.height)">\
            <text x="\(size.width / 2)" y="\(SheetLayout.fontSize * 5 / 4)" text-anchor="middle" \
            font-family="sans-serif" font-size="\(SheetLayout.fontSize)" fill="\(color)">\(Self.escaped(text))</text></svg>
            """
        return try codecs.decode(Data(svg.utf8)).pixels
    }

    /// Leaves out the middle of a long name, since beginning and extension tell most.
    ///
    /// - Parameter width: in widths of a usual letter; those of other scripts than Latin, Greek and Cyrillic count twice.
    static func shortened(_ name: String, toWidth width: Double) -> String {
        func length(_ text: some StringProtocol) -> Double {
            text.unicodeScalars.reduce(0) { $0 + ($1.value < 0x0530 ? 1 : 2) }
        }
        guard length(name) > width else { return name }
        var (head, tail) = (name[...], Substring())
        while let last = head.last, length(tail) < width / 2 - 1 {
            tail = String(last) + tail
            head.removeLast()
        }
        while !head.isEmpty, length(head) + 1 + length(tail) > width { head.removeLast() }
        return head + "…" + tail
    }

    private static func escaped(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { escaped, scalar in
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            // No character of XML.
            case _ where TerminalText.isUnsafe(scalar) || scalar.value & 0xFFFE == 0xFFFE: escaped += "�"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
    }
}
