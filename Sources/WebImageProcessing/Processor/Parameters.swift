public import WebImageCore

extension Color: ProcessorParameter {
    /// Its four components in brackets.
    public var identifierText: String { [red, green, blue, alpha].identifierText }
}

extension PixelSize: ProcessorParameter {
    /// Such as `640x480`.
    public var identifierText: String { "\(width)x\(height)" }
}

extension PointSize: ProcessorParameter {
    /// Such as `640x480.5`.
    public var identifierText: String { "\(width.identifierText)x\(height.identifierText)" }
}

extension ResizeMode: ProcessorParameter {}

extension PixelRect: ProcessorParameter {
    /// Left, top, width and height in brackets.
    public var identifierText: String { [x, y, width, height].identifierText }
}

extension PointRect: ProcessorParameter {
    /// Left, top, width and height in brackets.
    public var identifierText: String { [x, y, width, height].identifierText }
}

extension PointInsets: ProcessorParameter {
    /// Top, left, bottom and right in brackets.
    public var identifierText: String { [top, left, bottom, right].identifierText }
}

extension ImageContentMode: ProcessorParameter {}

extension Angle: ProcessorParameter {
    /// In degrees.
    public var identifierText: String { degrees.identifierText }
}
