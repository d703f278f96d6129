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
