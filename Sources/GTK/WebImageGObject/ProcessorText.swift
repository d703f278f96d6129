internal import CWebImageGObject
internal import CWebImageGTK
internal import WebImage

/// Reads processors from a text: steps with commas between them, each a name and a value, such as
/// `fill:300x300,rounded:12,blur:4`.
struct ProcessorText {
    static let byteLimit = 1024
    static let stepLimit = 16

    /// Why a text is invalid: what is wrong, and what to write.
    struct Problem: Error {
        let message: String
    }

    let processors: [ImageProcessor]

    init(_ text: String) throws(Problem) {
        guard text.utf8.count <= Self.byteLimit else {
            throw Problem(
                message: texts.localized(
                    "a text of processors has at most {limit} bytes, not {count}",
                    ["limit": "\(Self.byteLimit)", "count": "\(text.utf8.count)"]))
        }
        guard !text.allSatisfy(\.isWhitespace) else {
            processors = []
            return
        }
        let steps = text.split(separator: ",", omittingEmptySubsequences: false).map(\.trimmed)
        guard steps.count <= Self.stepLimit else {
            throw Problem(
                message: texts.localized(
                    "a text has at most {limit} processors, not {count}",
                    ["limit": "\(Self.stepLimit)", "count": "\(steps.count)"]))
        }
        var processors: [ImageProcessor] = []
        for step in steps { processors.append(try Self.processor(step)) }
        self.processors = processors
    }

    private static func processor(_ step: Substring) throws(Problem) -> ImageProcessor {
        let parts = step.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(\.trimmed)
        let value = parts.count > 1 ? parts[1] : ""
        let processor: ImageProcessor?
        let expected: String
        switch parts[0] {
        case "resize":
            (processor, expected) = (
                resize(value), "a size such as 300x200, 300x or x200, or with a fit 300x200:\(fits)"
            )
        case "fill":
            (processor, expected) = (
                fill(value), "a size such as 300x200, or with a focal point 300x200:-0.4:0.6"
            )
        case "rounded":
            (processor, expected) = (number(value).map { .roundedCorners(radius: $0) }, radius)
        case "blur":
            (processor, expected) = (number(value).map { .blur(radius: $0) }, radius)
        case "tint":
            (processor, expected) = (color(value).map { .tint($0) }, "a color such as #3584e4, #3584e480 or orange")
        case "circle":
            (processor, expected) = (parts.count == 1 ? .circle() : nil, "no value")
        case "grayscale":
            (processor, expected) = (parts.count == 1 ? .grayscale() : nil, "no value")
        default:
            throw Problem(message: "there is no processor '\(parts[0])': write \(names), with commas between them")
        }
        guard let processor else { throw Problem(message: "'\(step)' is invalid: \(parts[0]) takes \(expected)") }
        return processor
    }

    private static let names = "resize, fill, rounded, circle, blur, grayscale or tint"
    private static let fits = "contain, :cover, :fill or :scale-down"
    private static let radius = "a radius from 0 to \(UInt16.max) such as 12"

    // MARK: Values

    /// A size with an optional fit, such as `300x200:cover`.
    private static func resize(_ value: Substring) -> ImageProcessor? {
        let parts = value.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count <= 2, let size = Self.size(parts[0]), size.width != nil || size.height != nil else {
            return nil
        }
        let fit: GtkContentFit
        switch parts.count > 1 ? parts[1] : "contain" {
        case "contain": fit = GTK_CONTENT_FIT_CONTAIN
        case "cover": fit = GTK_CONTENT_FIT_COVER
        case "fill": fit = GTK_CONTENT_FIT_FILL
        case "scale-down": fit = GTK_CONTENT_FIT_SCALE_DOWN
        default: return nil
        }
        return .resize(to: .pixels(width: size.width, height: size.height), fit: fit)
    }

    /// A size with an optional focal point, such as `300x200:-0.4:0.6`.
    private static func fill(_ value: Substring) -> ImageProcessor? {
        let parts = value.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 1 || parts.count == 3, let size = Self.size(parts[0]), let width = size.width,
            let height = size.height
        else { return nil }
        let coordinates = parts.dropFirst().map(coordinate)
        guard !coordinates.contains(nil) else { return nil }
        let focus = FocalPoint(x: coordinates.first.flatMap(\.self) ?? 0, y: coordinates.last.flatMap(\.self) ?? 0)
        return .resize(toFill: .pixels(width: width, height: height), focus: focus)
    }

    /// Reads a number from -1 to 1.
    private static func coordinate(_ text: Substring) -> Double? {
        guard let value = number(text.hasPrefix("-") ? text.dropFirst() : text), value <= 1 else { return nil }
        return text.hasPrefix("-") ? -value : value
    }

    private static func size(_ value: Substring) -> (width: Int?, height: Int?)? {
        let sides = value.split(separator: "x", omittingEmptySubsequences: false)
        guard sides.count == 2 else { return nil }
        let numbers = sides.map { number($0).flatMap(Int.init(exactly:)) }
        // A side that is there has to be valid.
        guard zip(sides, numbers).allSatisfy({ $0.isEmpty || ($1 ?? 0) > 0 }) else { return nil }
        return (numbers[0], numbers[1])
    }

    /// Reads digits, and a fraction, up to the longest side of a request.
    private static func number(_ text: Substring) -> Double? {
        // Double also reads exponents, hexadecimal digits and names of numbers.
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E }), let number = Double(text),
            number <= Double(UInt16.max)
        else { return nil }
        return number
    }

    private static func color(_ value: Substring) -> Color? {
        var color = GdkRGBA()
        guard gdk_rgba_parse(&color, String(value)) != 0 else { return nil }
        return Color(
            red: Double(color.red), green: Double(color.green), blue: Double(color.blue), alpha: Double(color.alpha))
    }
}

extension Substring {
    /// Without white space at its ends.
    fileprivate var trimmed: Substring {
        let beginning = drop(while: \.isWhitespace)
        guard let end = beginning.lastIndex(where: { !$0.isWhitespace }) else { return beginning }
        return beginning[...end]
    }
}

@c @implementation
func webimage_bridge_processor_parse(
    _ text: UnsafePointer<CChar>, _ message: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
) -> OpaquePointer? {
    do throws(ProcessorText.Problem) {
        return ProcessorChain(try ProcessorText(String(cString: text)).processors).retainedHandle
    } catch {
        message.pointee = g_strdup(error.message)
        return nil
    }
}
