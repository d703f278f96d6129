package import WebImageCoding
internal import WebImageCore

/// How a property of options is written to a message, and read.
private struct SentProperty<Options> {
    let encode: (Options, inout any UnkeyedEncodingContainer) throws -> Void
    let decode: (inout Options, inout any UnkeyedDecodingContainer) throws -> Void

    init<Value: Codable>(_ path: WritableKeyPath<Options, Value>) {
        encode = { try $1.encode($0[keyPath: path]) }
        decode = { $0[keyPath: path] = try $1.decode(Value.self) }
    }

    init<Value: Codable>(_ path: WritableKeyPath<Options, Value?>) {
        encode = { try $1.encode(Present(value: $0[keyPath: path])) }
        decode = { $0[keyPath: path] = try $1.decode(Present<Value>.self).value }
    }

    /// Messages have optional properties, not optional elements.
    private struct Present<Value: Codable>: Codable { var value: Value? }
}

extension Array {
    /// Returns options with the properties of a message.
    fileprivate func read<Options>(into options: Options, from decoder: any Decoder) throws -> Options
    where Element == SentProperty<Options> {
        var options = options
        var container = try decoder.unkeyedContainer()
        for property in self { try property.decode(&options, &container) }
        return options
    }

    fileprivate func write<Options>(_ options: Options, to encoder: any Encoder) throws
    where Element == SentProperty<Options> {
        var container = encoder.unkeyedContainer()
        for property in self { try property.encode(options, &container) }
    }
}

/// Options without what belongs to one process, such as a cancellation.
package struct SentDecodingOptions: Codable, Sendable {
    package var options: DecodingOptions

    init(_ options: DecodingOptions) { self.options = options }

    package init(from decoder: any Decoder) throws {
        options = try Self.properties.read(into: DecodingOptions(), from: decoder)
    }

    package func encode(to encoder: any Encoder) throws { try Self.properties.write(options, to: encoder) }

    private static var properties: [SentProperty<DecodingOptions>] {
        [
            SentProperty(\.thumbnail), SentProperty(\.region), SentProperty(\.page), SentProperty(\.byteLimit),
            SentProperty(\.scale),
            SentProperty(\.firstFrameOnly), SentProperty(\.allowsDamage), SentProperty(\.limits),
            SentProperty(\.keepsColors), SentProperty(\.bypassesWebPFilter),
        ]
    }
}

/// Options without what belongs to one process, and without what ``CodecRegistry`` does itself: bounds, a limit on bytes, and gain maps.
package struct SentEncodingOptions: Codable, Sendable {
    package var options: EncodingOptions

    init(_ options: EncodingOptions) { self.options = options }

    package init(from decoder: any Decoder) throws {
        options = try Self.properties.read(into: EncodingOptions(), from: decoder)
    }

    package func encode(to encoder: any Encoder) throws { try Self.properties.write(options, to: encoder) }

    private static var properties: [SentProperty<EncodingOptions>] {
        [
            SentProperty(\.quality), SentProperty(\.qualityScale), SentProperty(\.background),
            SentProperty(\.alphaQuality),
            SentProperty(\.isProgressive), SentProperty(\.isLossless), SentProperty(\.writesColorProfile),
            SentProperty(\.optimizesHuffmanCodes), SentProperty(\.framing), SentProperty(\.pngLevel),
            SentProperty(\.webPEffort), SentProperty(\.webPPreset), SentProperty(\.speed), SentProperty(\.colorLimit),
            SentProperty(\.chroma),
            SentProperty(\.pngFilter), SentProperty(\.searchesPNG), SentProperty(\.dithering), SentProperty(\.palette),
            SentProperty(\.iconSides),
            SentProperty(\.metadata), SentProperty(\.profileBytes),
        ]
    }
}

extension EncodingOptions {
    fileprivate var profileBytes: [UInt8]? {
        get { colorProfile?.bytes }
        set { colorProfile = newValue.flatMap { ColorProfile($0) } }
    }
}
