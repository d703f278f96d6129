/// A typeface at a size.
public struct Font: Sendable, Hashable, Codable {
    /// How heavy its strokes are: 100 to 1000, as in CSS.
    public struct Weight: RawRepresentable, Sendable, Hashable, Codable {
        /// 100 to 1000.
        public var rawValue: Int
        /// Makes a weight; one outside 100 to 1000 is brought inside when it is used.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// 300.
        public static let light = Weight(rawValue: 300)
        /// 400.
        public static let regular = Weight(rawValue: 400)
        /// 500.
        public static let medium = Weight(rawValue: 500)
        /// 600.
        public static let semibold = Weight(rawValue: 600)
        /// 700.
        public static let bold = Weight(rawValue: 700)
        /// 900.
        public static let heavy = Weight(rawValue: 900)
    }

    /// Whether it leans.
    public enum Style: String, Sendable, Hashable, Codable, CaseIterable {
        /// Upright.
        case normal
        /// In shapes of its own.
        case italic
        /// Upright shapes, slanted.
        case oblique
    }

    /// One family or several with commas between them, the first that is installed counts; `sans-serif`, `serif` and
    /// `monospace` are always something. Glyphs that a font lacks are taken from others.
    public var family: String
    /// In points: of the square that letters are designed in. As everywhere here, a point is a pixel at scale 1.
    /// 0.1 to 10,000; others are an error when it is used.
    public var size: Double
    /// How heavy its strokes are.
    public var weight: Weight
    /// Whether it leans.
    public var style: Style

    /// Makes a font; what is not installed is replaced by what comes near when it is used.
    public init(_ family: String = "sans-serif", size: Double, weight: Weight = .regular, style: Style = .normal) {
        self.family = family
        self.size = size
        self.weight = weight
        self.style = style
    }
}
