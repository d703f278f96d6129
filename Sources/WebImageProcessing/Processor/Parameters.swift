public import WebImageCore

extension Color: ProcessorParameter {
    /// Its four components in brackets.
    public var identifierValue: ProcessorIdentifier.Value { [red, green, blue, alpha].identifierValue }
}

extension PixelSize: ProcessorParameter {
    /// Such as `640x480`.
    public var identifierValue: ProcessorIdentifier.Value { .text("\(width)x\(height)") }
}

extension PointSize: ProcessorParameter {
    /// Such as `640x480.5`.
    public var identifierValue: ProcessorIdentifier.Value {
        ProcessorIdentifier.Value(verbatim: "\(width.identifierValue)x\(height.identifierValue)")
    }
}

extension ResizeMode: ProcessorParameter {}

extension PixelRect: ProcessorParameter {
    /// Left, top, width and height in brackets.
    public var identifierValue: ProcessorIdentifier.Value { [x, y, width, height].identifierValue }
}

extension PointRect: ProcessorParameter {
    /// Left, top, width and height in brackets.
    public var identifierValue: ProcessorIdentifier.Value { [x, y, width, height].identifierValue }
}

extension PointInsets: ProcessorParameter {
    /// Top, left, bottom and right in brackets.
    public var identifierValue: ProcessorIdentifier.Value { [top, left, bottom, right].identifierValue }
}

extension ImageContentMode: ProcessorParameter {}

extension Angle: ProcessorParameter {
    /// In degrees.
    public var identifierValue: ProcessorIdentifier.Value { degrees.identifierValue }
}
