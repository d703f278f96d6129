internal import WebImage

/// The declarations of `convert`'s options for pixels. Regardless of the order of options, the image is rotated first
/// and its corners are rounded last, so that they are the corners of the result.
struct ProcessorOptions {
    private let rotation, flip, tint, blur, radius: OptionParser.Option
    private let grayscale: OptionParser.Flag

    init(in parser: OptionParser) {
        rotation = parser.option(
            "rotate", value: "DEGREES", help: "Rotate clockwise; the image grows, with transparent corners")
        flip = parser.option("flip", words: ["h", "v"], help: "Mirror horizontally or vertically")
        grayscale = parser.flag("grayscale", help: "Remove the color")
        tint = parser.option(
            "tint", value: "#rrggbb[aa]", help: "Tint with this color; alpha blends it with the original")
        blur = parser.option(
            "blur", value: "R", help: "Blur with a radius of R pixels, about twice a Gaussian's deviation")
        radius = parser.option("round", value: "R", help: "Round the corners with a radius of R pixels")
    }

    /// Returns the processors for the given options, in order of their application.
    func processors(from parser: OptionParser) throws(ArgumentError) -> [ImageProcessor] {
        var processors: [ImageProcessor] = []
        if let degrees = try parser.number(rotation, in: -36_000...36_000) {
            processors.append(.rotate(degrees: degrees))
        }
        switch flip.value {
        case nil: break
        case "h": processors.append(.flip(horizontally: true))
        case "v": processors.append(.flip(vertically: true))
        case let other?: throw parser.error("--flip takes h or v, not '\(other)'")
        }
        if grayscale.isSet { processors.append(.grayscale()) }
        if let color = try parser.color(tint, mayHaveAlpha: true) {
            processors.append(.tint(color, mode: .sourceAtop))
        }
        let longest = Double(PixelSize.maximumDimension)
        if let radius = try parser.number(blur, in: 0...longest) {
            processors.append(.blur(radius: radius))
        }
        if let radius = try parser.number(radius, in: 0...longest) {
            processors.append(.roundedCorners(radius: radius))
        }
        return processors
    }
}
