package import WebImageCoding
internal import WebImageCore

/// Options without what belongs to one process, such as a cancellation.
package struct Sent<Options: SentOptions>: Codable, Sendable {
    package var options: Options

    package init(_ options: Options) { self.options = options }

    package init(from decoder: any Decoder) throws {
        options = Options.unsent
        var container = try decoder.unkeyedContainer()
        for property in Options.sentProperties { try property.decode(&options, &container) }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        for property in Options.sentProperties { try property.encode(options, &container) }
    }
}

package protocol SentOptions: Sendable {
    /// Those whose properties a message replaces. No initializer: it would take the place of one with defaults.
    static var unsent: Self { get }
    /// The properties that a process needs.
    static var sentProperties: [SentProperty<Self>] { get }
}

/// How a property is written and read.
package struct SentProperty<Options> {
    fileprivate let encode: (Options, inout any UnkeyedEncodingContainer) throws -> Void
    fileprivate let decode: (inout Options, inout any UnkeyedDecodingContainer) throws -> Void

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

extension DecodingOptions: SentOptions {
    package static var unsent: Self { Self() }

    package static var sentProperties: [SentProperty<Self>] {
        [
            SentProperty(\.thumbnail), SentProperty(\.page), SentProperty(\.byteLimit), SentProperty(\.scale),
            SentProperty(\.firstFrameOnly), SentProperty(\.allowsDamage), SentProperty(\.limits),
            SentProperty(\.keepsColors), SentProperty(\.bypassesWebPFilter),
        ]
    }
}

extension EncodingOptions: SentOptions {
    package static var unsent: Self { Self() }

    /// Without what ``CodecRegistry`` does itself: bounds, a limit on bytes, and gain maps.
    package static var sentProperties: [SentProperty<Self>] {
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

    private var profileBytes: [UInt8]? {
        get { colorProfile?.bytes }
        set { colorProfile = newValue.flatMap { ColorProfile($0) } }
    }
}
