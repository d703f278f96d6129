/// What becomes of each component of a colour: a sum of all four, and of a constant.
///
/// ```
/// │ red'   │   │ red.red   red.green   red.blue   red.alpha   red.constant   │   │ red   │
/// │ green' │   │ green.red …                                                 │   │ green │
/// │ blue'  │ = │ blue.red  …                                                 │ × │ blue  │
/// │ alpha' │   │ alpha.red …                                                 │   │ alpha │
///                                                                                │ 1     │
/// ```
///
/// Colours are straight, not premultiplied, and encoded as sRGB, as Core Graphics, CSS and SVG filters with
/// `color-interpolation-filters="sRGB"` take them; components run from 0 to 1 and results are cut to that.
public struct ColorMatrix: Sendable, Hashable {
    /// How much of each component goes into one of the result.
    public struct Row: Sendable, Hashable {
        /// Share of red.
        public var red: Double
        /// Share of green.
        public var green: Double
        /// Share of blue.
        public var blue: Double
        /// Share of alpha.
        public var alpha: Double
        /// What is added: 1 is a whole component.
        public var constant: Double

        /// Makes a row.
        public init(
            red: Double = 0, green: Double = 0, blue: Double = 0, alpha: Double = 0, constant: Double = 0
        ) {
            self.red = red
            self.green = green
            self.blue = blue
            self.alpha = alpha
            self.constant = constant
        }

        var elements: [Double] { [red, green, blue, alpha, constant] }
    }

    /// What red becomes.
    public var red: Row
    /// What green becomes.
    public var green: Row
    /// What blue becomes.
    public var blue: Row
    /// What alpha becomes.
    public var alpha: Row

    /// Makes a matrix; a row that is not given leaves its component as it is.
    public init(
        red: Row = Row(red: 1), green: Row = Row(green: 1), blue: Row = Row(blue: 1), alpha: Row = Row(alpha: 1)
    ) {
        self.red = red
        self.green = green
        self.blue = blue
        self.alpha = alpha
    }

    /// Row after row.
    var elements: [Double] { red.elements + green.elements + blue.elements + alpha.elements }

    /// Whether opaque pixels stay opaque.
    var keepsAlpha: Bool { alpha == Row(alpha: 1) }

    /// This matrix and then `next`, as one. Results of this one that would be cut at 0 or 1 are not, in between.
    public func followed(by next: ColorMatrix) -> ColorMatrix {
        func row(_ row: Row) -> Row {
            func sum(_ component: KeyPath<Row, Double>) -> Double {
                row.red * red[keyPath: component] + row.green * green[keyPath: component]
                    + row.blue * blue[keyPath: component] + row.alpha * alpha[keyPath: component]
            }
            return Row(
                red: sum(\.red), green: sum(\.green), blue: sum(\.blue), alpha: sum(\.alpha),
                constant: sum(\.constant) + row.constant)
        }
        return ColorMatrix(red: row(next.red), green: row(next.green), blue: row(next.blue), alpha: row(next.alpha))
    }
}

extension ColorMatrix {
    /// Leaves colours as they are.
    public static let identity = ColorMatrix()

    /// The luma of Rec. 709 (0.2126, 0.7152, 0.0722) in place of each colour.
    public static let grayscale = saturation(0)

    /// The opposite of each colour.
    public static let inverted = ColorMatrix(
        red: Row(red: -1, constant: 1), green: Row(green: -1, constant: 1), blue: Row(blue: -1, constant: 1))

    /// The distance of each colour from its luma (Rec. 709), times `factor`: 0 is grey, 1 changes nothing, and less than 0
    /// gives opposite colours of the same luma.
    public static func saturation(_ factor: Double) -> ColorMatrix {
        let luma = Row(red: 0.2126, green: 0.7152, blue: 0.0722)
        func row(_ own: WritableKeyPath<Row, Double>) -> Row {
            let rest = 1 - factor
            var row = Row(red: rest * luma.red, green: rest * luma.green, blue: rest * luma.blue)
            row[keyPath: own] += factor
            return row
        }
        return ColorMatrix(red: row(\.red), green: row(\.green), blue: row(\.blue))
    }

    /// Adds `amount` to red, green and blue: -1 makes everything black, 1 white, 0 changes nothing.
    public static func brightness(_ amount: Double) -> ColorMatrix { gain(1, adding: amount) }

    /// The distance of red, green and blue from middle grey, times `factor`: 0 is grey, 1 changes nothing.
    public static func contrast(_ factor: Double) -> ColorMatrix { gain(factor, adding: (1 - factor) / 2) }

    /// Brown like an old photograph, with the weights of W3C's Filter Effects Module, 12.1.
    ///
    /// - Parameter amount: 0 changes nothing, 1 is all brown; others lie between, or go beyond.
    public static func sepia(_ amount: Double = 1) -> ColorMatrix {
        let brown = ColorMatrix(
            red: Row(red: 0.393, green: 0.769, blue: 0.189), green: Row(red: 0.349, green: 0.686, blue: 0.168),
            blue: Row(red: 0.272, green: 0.534, blue: 0.131))
        func row(_ brown: Row, _ own: WritableKeyPath<Row, Double>) -> Row {
            var row = Row(red: brown.red * amount, green: brown.green * amount, blue: brown.blue * amount)
            row[keyPath: own] += 1 - amount
            return row
        }
        return ColorMatrix(red: row(brown.red, \.red), green: row(brown.green, \.green), blue: row(brown.blue, \.blue))
    }

    private static func gain(_ factor: Double, adding constant: Double) -> ColorMatrix {
        ColorMatrix(
            red: Row(red: factor, constant: constant), green: Row(green: factor, constant: constant),
            blue: Row(blue: factor, constant: constant))
    }
}

extension ColorMatrix: ProcessorParameter {
    /// Its twenty numbers, row after row, in brackets.
    public var identifierValue: ProcessorIdentifier.Value { elements.identifierValue }
}
