public import WebImageCore

/// Corners of a picture.
public struct Corners: OptionSet, Sendable, Hashable {
    /// A bit a corner.
    public let rawValue: Int

    /// Takes a bit a corner.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The left top corner.
    public static let topLeft = Corners(rawValue: 1)
    /// The right top corner.
    public static let topRight = Corners(rawValue: 2)
    /// The right bottom corner.
    public static let bottomRight = Corners(rawValue: 4)
    /// The left bottom corner.
    public static let bottomLeft = Corners(rawValue: 8)
    /// All four.
    public static let all: Corners = [.topLeft, .topRight, .bottomRight, .bottomLeft]
}

/// The radius of each corner of a picture, in points; 0 leaves a corner square.
public struct CornerRadii: Sendable, Hashable {
    /// Of the left top corner.
    public var topLeft: Double
    /// Of the right top corner.
    public var topRight: Double
    /// Of the right bottom corner.
    public var bottomRight: Double
    /// Of the left bottom corner.
    public var bottomLeft: Double

    /// A radius for each corner; corners that are not named stay square.
    public init(topLeft: Double = 0, topRight: Double = 0, bottomRight: Double = 0, bottomLeft: Double = 0) {
        self.topLeft = topLeft
        self.topRight = topRight
        self.bottomRight = bottomRight
        self.bottomLeft = bottomLeft
    }

    /// One radius for some corners, or all; the others stay square.
    public init(_ radius: Double, corners: Corners = .all) {
        func ifChosen(_ corner: Corners) -> Double { corners.contains(corner) ? radius : 0 }
        self.init(
            topLeft: ifChosen(.topLeft), topRight: ifChosen(.topRight), bottomRight: ifChosen(.bottomRight),
            bottomLeft: ifChosen(.bottomLeft))
    }

    /// Clockwise from the left top corner.
    var clockwise: [Double] { [topLeft, topRight, bottomRight, bottomLeft] }
}

extension CornerRadii: ProcessorParameter {
    /// The four in brackets, clockwise from the left top corner.
    public var identifierValue: ProcessorIdentifier.Value { clockwise.identifierValue }
}

/// A line along a picture's edge, inside of it.
public struct Border: Sendable, Hashable {
    /// The line's shape at corners without a radius.
    public enum Join: String, Sendable, Hashable, CaseIterable {
        /// A sharp corner.
        case miter
        /// Rounded with half of the line's width.
        case round
        /// Cut off straight, from half of the line's width to half of it.
        case bevel
    }

    /// The line's width in points.
    public var width: Double
    /// The line's colour; through a translucent one the picture is seen.
    public var color: Color
    /// The line's shape at corners without a radius.
    public var join: Join

    /// Makes a line of `width` points.
    public init(width: Double, color: Color, join: Join = .miter) {
        self.width = width
        self.color = color
        self.join = join
    }
}

extension Border: ProcessorParameter {
    /// Width, colour and join in brackets.
    public var identifierValue: ProcessorIdentifier.Value {
        .list([width.identifierValue, color.identifierValue, .text(join.rawValue)])
    }
}
