import FoundationEssentials
import WebImageCoding
import WebImageCore
import WebImageTestSupport

/// A good file, to be damaged.
struct SeedFile: Sendable {
    let format: ImageFormat
    let data: Data
}

enum SeedFiles {
    /// Files that the encoders make, and small ones of the tests' fixtures, of all formats.
    static func all(_ registry: CodecRegistry) throws -> [SeedFile] {
        var files: [SeedFile] = []
        for format in registry.writableFormats {
            for alpha in [false, true] {
                for isProgressive in [false, true] {
                    var options = EncodingOptions(quality: 0.5, isProgressive: isProgressive)
                    options.metadata = ImageMetadata(xmp: Data("<x:xmpmeta xmlns:x='adobe:ns:meta/'/>".utf8))
                    let data = try registry.encode(
                        image(PixelSize(width: 40, height: 30), alpha: alpha), as: format, options: options)
                    files.append(SeedFile(format: format, data: data))
                }
            }
            if GainMap.formats.contains(format) {
                var options = EncodingOptions(quality: 0.5)
                options.gainMap = try gainMap()
                let image = try image(PixelSize(width: 40, height: 30), alpha: false)
                files.append(SeedFile(format: format, data: try registry.encode(image, as: format, options: options)))
            }
            if registry.canEncodeAnimation(as: format) {
                var animation = EncodableAnimation(loopCount: 2)
                for index in 0..<3 {
                    animation.append(
                        try image(PixelSize(width: 24, height: 18), alpha: index > 0), duration: .milliseconds(100))
                }
                files.append(SeedFile(format: format, data: try registry.encode(animation, as: format)))
            }
        }
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Fixtures")
        let names = (try? FileManager.default.subpathsOfDirectory(atPath: folder.path)) ?? []
        for name in names.sorted() {
            guard let data = try? Data(contentsOf: folder.appending(path: name)), data.count < 32 << 10,
                let format = ImageFormat(signatureOf: data), registry.decoder(of: format) != nil
            else { continue }
            files.append(SeedFile(format: format, data: data))
        }
        files += drawings.map { SeedFile(format: .svg, data: Data($0.utf8)) }.filter {
            registry.decoder(of: $0.format) != nil
        }
        files += pixmaps.map { SeedFile(format: .pnm, data: Data($0.utf8)) }
        return files
    }

    private static func image(_ size: PixelSize, alpha: Bool) throws -> Image {
        var pixels = try MutablePixelBuffer(width: size.width, height: size.height)
        pixels.withUnsafeMutableBytes { bytes in
            for index in 0..<size.pixelCount {
                let opacity = alpha ? UInt8(truncatingIfNeeded: index * 3) : 255
                for channel in 0..<3 {
                    bytes[index * 4 + channel] = min(UInt8(truncatingIfNeeded: index * (channel + 2) >> 2), opacity)
                }
                bytes[index * 4 + 3] = opacity
            }
        }
        return Image(pixels: pixels.freeze(isOpaque: !alpha))
    }

    private static func gainMap() throws -> GainMap? {
        guard let none = Fraction(0, 1), let one = Fraction(1, 1), let most = Fraction(3, 1) else { return nil }
        let channel = GainMapMetadata.Channel(
            minimum: none, maximum: most, gamma: one, baseOffset: none, alternateOffset: none)
        let metadata = GainMapMetadata(
            baseHeadroom: none, alternateHeadroom: most, channels: [channel], usesBaseColors: true)
        let pixels = try image(PixelSize(width: 20, height: 15), alpha: false).pixels
        return metadata.flatMap {
            GainMap(pixels: pixels, isoMetadata: Data($0.iso), imageSize: PixelSize(width: 40, height: 30))
        }
    }

    private static let pixmaps = [
        "P1 4 2 1 0 1 0 0 1 1 1", "P2 3 2 9 1 2 3 4 5 9", "P3 2 1 255 1 2 3 250 251 252", "P5 4 2 255 abcdefgh",
    ]

    private static let drawings = [
        "<g transform='scale(2)'><rect width='9' height='9' fill='url(#a)'/></g><pattern id='a' width='.3' height='1'><path d='M0 0h4v2z'/></pattern>",
        "<filter id='f'><feMorphology radius='2'/><feConvolveMatrix order='3' kernelMatrix='1 1 1 1 1 1 1 1 1'/><feGaussianBlur stdDeviation='2'/></filter><g filter='url(#f)'><circle r='5' cx='4' cy='4'/></g>",
        "<filter id='f'><feTurbulence baseFrequency='.1' numOctaves='2'/><feDisplacementMap scale='3'/><feTile/><feComponentTransfer/></filter><rect width='9' height='9' filter='url(#f)'/>",
        "<style>.a > rect, #b { fill: #123; stroke: url('#g') }</style><linearGradient id='g'><stop offset='.3' stop-color='red'/></linearGradient><g class='a'><rect id='b' width='7' height='5' stroke-width='2'/></g>",
        "<path d='M0 0l1 1a1 1 0 011 1zC1-1 2.5.5 1 3H4' marker-mid='url(#m)'/><marker id='m'><path d='M0 0h1'/></marker><text y='9'>&#x41;&lt;<tspan>b</tspan></text>",
        "<mask id='m'><use href='#s'/></mask><symbol id='s' viewBox='0 0 2 2'><rect width='1' height='2'/></symbol><clipPath id='c'><circle r='5'/></clipPath><g mask='url(#m)' clip-path='url(#c)'><rect width='9' height='9'/></g>",
        "<image width='4' height='4' href='data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIHZpZXdCb3g9IjAgMCAxIDEiLz4='/>",
    ].map { "<svg xmlns='http://www.w3.org/2000/svg' width='24' height='18' viewBox='0 0 9 9'>\($0)</svg>" }
}

extension SplitMix64 {
    mutating func index(below count: Int) -> Int { Int(next() % UInt64(max(1, count))) }
}

extension SeedFile {
    /// Returns a copy with random damage, sometimes a part of another file of the format.
    func mutated(_ random: inout SplitMix64, others: [SeedFile]) -> Data {
        var bytes = Array(data)
        for _ in 0...random.index(below: 4) {
            guard bytes.count > 8 else { break }
            let position = random.index(below: bytes.count)
            let length = min(bytes.count - position, 1 + random.index(below: 64))
            switch random.index(below: 10) {
            case 0, 1: bytes[position] ^= 1 << UInt8(random.index(below: 8))
            case 2, 3: bytes[position] = UInt8(truncatingIfNeeded: random.next())
            case 4, 5:
                // A size or an offset that is far off.
                let values: [UInt32] = [
                    0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x10000, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF,
                ]
                let value = values[random.index(below: values.count)]
                let isBig = random.index(below: 2) == 0
                withUnsafeBytes(of: isBig ? value.bigEndian : value.littleEndian) { source in
                    for (offset, byte) in source.enumerated() where position + offset < bytes.count {
                        bytes[position + offset] = byte
                    }
                }
            case 6: bytes.removeSubrange(position..<position + length)
            case 7: bytes.insert(contentsOf: bytes[position..<position + length], at: random.index(below: bytes.count))
            case 8: bytes.removeSubrange(max(8, position)...)
            default:
                let other = others[random.index(below: others.count)].data
                let start = other.startIndex + random.index(below: other.count)
                bytes.replaceSubrange(
                    position..<position + length, with: other[start..<min(start + length, other.endIndex)])
            }
        }
        return Data(bytes)
    }
}
