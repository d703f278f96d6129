import FoundationEssentials
import WebImageCoding
import WebImageCore

/// A small file that asks for far too much of something.
struct Bomb: Sendable, CustomStringConvertible {
    let name: String
    let make: @Sendable () throws -> Data

    init(_ name: String, _ make: @escaping @Sendable () throws -> Data) {
        self.name = name
        self.make = make
    }

    var description: String { name }

    static let all = pixels + pages + structures + drawings + libraries

    private static let profile = [UInt8]("a".utf8) + [0, 0]

    // MARK: Large images in few bytes

    private static let pixels = [
        Bomb("png-65535x65535") { png(65_535, 65_535, type: 6, rows: zeros(1000)) },
        Bomb("png-98-megapixels") { png(9900, 9900, type: 0, rows: zeros(9901 * 9900)) },
        Bomb("png-240-megapixels") {
            png(20_000, 12_000, type: 2, rows: zeros((20_000 * 3 + 1) * 12_000))
        },
        Bomb("png-16-bit-interlaced") {
            png(5000, 5000, depth: 16, type: 6, isInterlaced: true, rows: zeros(200_100_000))
        },
        Bomb("png-profile-200-MB") {
            png(8, 8, type: 6, rows: zeros(264), chunk("iCCP", joined(profile, zeros(200 << 20))))
        },
        Bomb("png-text-200-MB") {
            png(8, 8, type: 6, rows: zeros(264), chunk("zTXt", joined(profile, zeros(200 << 20))))
        },
        Bomb("jpeg-65500x65500") { resized(try jpeg(isProgressive: false), 65_500, 65_500) },
        Bomb("jpeg-progressive-98-megapixels") { resized(try jpeg(isProgressive: true), 9900, 9900) },
        Bomb("webp-lossless-100-megapixels") {
            let color: [UInt8] = [0x07, 0x50, 0xE4, 0x2A, 0xD4, 0xA3, 0xFF, 0x81, 0x88, 0xE8, 0x7F, 0]
            return webp(chunk: "VP8L", joined([0x2F, 0x05, 0x67, 0xC1, 0x09], color))
        },
        Bomb("webp-lossy-100-megapixels") {
            let image = try IsolatedDecodingTests.image(PixelSize(width: 32, height: 32))
            var bytes = Array(try CodecRegistry().encode(image, as: .webp))
            // The size is behind the start code of VP8.
            if let start = bytes.indices.first(where: { bytes[$0...].starts(with: [0x9D, 0x01, 0x2A]) }) {
                bytes.replaceSubrange(start + 3..<start + 7, with: little(UInt16(9990)) + little(UInt16(9990)))
            }
            return Data(bytes)
        },
        Bomb("gif-65535x65535") { gif(65_535, 65_535, frameCount: 1) },
        Bomb("webp-lossless-16383x16383") {
            webp(chunk: "VP8L", joined([0x2F], webPSize, [UInt8](repeating: 0, count: 64)))
        },
        Bomb("bmp-65535x65535") { bmp(65_535, 65_535, compression: 0, []) },
        Bomb("bmp-runs-98-megapixels") {
            let row = joined(repeated(39) { _ in [255, 0] }, [0, 0])
            return bmp(9900, 9900, compression: 1, repeated(9900) { _ in row })
        },
        Bomb("pnm-65535x65535") { Data("P6 65535 65535 65535\n".utf8) },
        Bomb("pnm-text-98-megapixels") { Data("P1 9900 9900\n0 1 0 1".utf8) },
        Bomb("qoi-98-megapixels") {
            let side = big(UInt32(9900))
            let runs = [UInt8](repeating: 0xFD, count: 9900 * 9900 / 62)
            return Data(joined(Array("qoif".utf8), side, side, [4, 0], runs, [0, 0, 0, 0, 0, 0, 0, 1]))
        },
        Bomb("tiff-tile-65520x65520") {
            tiff(60_000, 60_000, [(322, 65_520), (323, 65_520), (324, 8), (325, 1 << 30)])
        },
        Bomb("tiff-deflated-98-megapixels") {
            let strip = zeros(9900 * 9900)
            let tags: [(UInt16, UInt32)] = [(259, 8), (278, 9900), (273, 8), (279, UInt32(strip.count))]
            return tiff(9900, 9900, tags, content: strip)
        },
        Bomb("tiff-65000-samples") { tiff(4000, 4000, [(277, 65_000), (273, 8), (279, 1 << 30), (278, 4000)]) },
        Bomb("j2k-16384-components") { j2k(1000, 1000, componentCount: 16_384) },
        Bomb("j2k-60000x60000") { j2k(60_000, 60_000, componentCount: 1) },
        Bomb("jxl-1-gigapixel-sides") {
            // A bit, then 2 + 30 bits, 3 bits, and 2 + 30 bits, the lowest first.
            var bytes = [UInt8](repeating: 0, count: 12)
            for bit in Array(1...32) + Array(36...67) { bytes[bit / 8] |= 1 << UInt8(bit % 8) }
            return Data([0xFF, 0x0A] + bytes)
        },
    ]

    private static let webPSize = little(UInt32(16_382) | UInt32(16_382) << 14)

    // MARK: Many frames, scans, pages

    private static let pages = [
        Bomb("apng-100000-frames") {
            let side = big(UInt32(8))
            let frames = repeated(100_000) { index in
                let number = UInt32(index) * 2
                let control = joined(big(number), side, side, [UInt8](repeating: 0, count: 9), [1, 0, 9, 0, 0])
                return joined(chunk("fcTL", control), chunk("fdAT", joined(big(number + 1), zeros(264))))
            }
            let control = chunk("acTL", joined(big(UInt32(100_000)), big(UInt32(0))))
            return png(8, 8, type: 6, rows: zeros(264), control, after: frames)
        },
        Bomb("jpeg-8000-scans") {
            let file = Array(try jpeg(isProgressive: true))
            var last = 0
            for index in 0..<file.count - 1 where file[index] == 0xFF && file[index + 1] == 0xDA { last = index }
            let scan = Array(file[last..<file.count - 2])
            return Data(joined(Array(file[..<last]), repeated(8000) { _ in scan }, [0xFF, 0xD9]))
        },
        Bomb("gif-200000-frames") { gif(1, 1, frameCount: 200_000) },
        Bomb("gif-large-frames") { gif(9000, 9000, frameCount: 4000) },
        Bomb("webp-animation-of-large-frames") {
            let size: [UInt8] = [0xFE, 0x3F, 0, 0xFE, 0x3F, 0]
            let image = part("VP8L", joined([0x2F], webPSize, [UInt8](repeating: 0, count: 11)))
            let frame = part("ANMF", joined([0, 0, 0, 0, 0, 0], size, [1, 0, 0, 0], image))
            return riff(
                joined(
                    part("VP8X", joined([2, 0, 0, 0], size)), part("ANIM", [0, 0, 0, 0, 0, 0]),
                    repeated(5000) { _ in frame }))
        },
        Bomb("ico-65535-entries") {
            let image = Array(png(256, 256, type: 6, rows: zeros(262_400)))
            let entry = joined(
                [0, 0, 0, 0, 1, 0, 32, 0], little(UInt32(image.count)), little(UInt32(6 + 65_535 * 16)))
            return Data(joined([0, 0, 1, 0, 0xFF, 0xFF], repeated(65_535) { _ in entry }, image))
        },
        Bomb("icns-500000-entries") {
            let entry = joined(Array("is32".utf8), big(UInt32(8)))
            return Data(joined(Array("icns".utf8), big(UInt32(500_000 * 8 + 8)), repeated(500_000) { _ in entry }))
        },
        Bomb("tiff-pages-in-a-circle") { tiff(8, 8, [(273, 8), (279, 64)], next: 8) },
        Bomb("tiff-100000-pages") {
            // One directory each, of one entry.
            let pages = repeated(100_000) { index in
                let next = index == 99_999 ? 0 : UInt32(8 + (index + 1) * 18)
                return joined([1, 0, 0, 1, 3, 0, 1, 0, 0, 0, 8, 0, 0, 0], little(next))
            }
            return Data(joined([0x49, 0x49, 42, 0, 8, 0, 0, 0], pages))
        },
    ]

    // MARK: Nesting and references

    private static let structures = [
        Bomb("jp2-nested-boxes") {
            let start = joined([0, 0, 0, 12], Array("jP  ".utf8), [0x0D, 0x0A, 0x87, 0x0A])
            return Data(joined(start, box("ftyp", Array("jp2 \0\0\0\0jp2 ".utf8)), nested("jp2h")))
        },
        Bomb("heic-nested-boxes") {
            Data(joined(mediaType("heic"), box("meta", [0, 0, 0, 0], handler, box("iprp", nested("ipco")))))
        },
        Bomb("heic-derived-from-itself") { heif("heic", itemType: "iden", derivedFrom: [1]) },
        Bomb("avif-derived-from-itself") { heif("avif", itemType: "iden", derivedFrom: [1]) },
        Bomb("heic-grid-of-itself") {
            heif("heic", itemType: "grid", derivedFrom: [UInt16](repeating: 1, count: 65_000))
        },
        Bomb("avif-65535-items") {
            let entry = box("infe", [2, 0, 0, 0, 0, 1, 0, 0], Array("av01\0".utf8))
            let items = box("iinf", [0, 0, 0, 0, 0xFF, 0xFF], repeated(65_535) { _ in entry })
            return Data(joined(mediaType("avif"), box("meta", [0, 0, 0, 0], handler, items)))
        },
        Bomb("jxl-100000-parts") {
            let start = joined([0, 0, 0, 12], Array("JXL ".utf8), [0x0D, 0x0A, 0x87, 0x0A])
            let parts = repeated(100_000) { box("jxlp", big(UInt32($0))) }
            return Data(joined(start, box("ftyp", Array("jxl \0\0\0\0jxl ".utf8)), parts))
        },
    ]

    /// 50,000 boxes, each in the one before.
    private static func nested(_ name: String) -> [UInt8] {
        repeated(50_000) { joined(big(UInt32((50_000 - $0) * 8)), Array(name.utf8)) }
    }

    private static let drawings = [
        Bomb("svg-entities") {
            let entities = (1..<10).map { "<!ENTITY e\($0) '\(String(repeating: "&e\($0 - 1);", count: 10))'>" }
                .joined()
            return Data(
                "<!DOCTYPE svg [<!ENTITY e0 'lol'>\(entities)]><svg xmlns='http://www.w3.org/2000/svg'><text>&e9;</text></svg>"
                    .utf8)
        },
        Bomb("svg-uses-of-uses") {
            let groups = (1..<30).map { level in
                "<g id='g\(level)'>\(String(repeating: "<use href='#g\(level - 1)'/>", count: 10))</g>"
            }
            return svg(100, "<defs><rect id='g0' width='9' height='9'/>\(groups.joined())</defs><use href='#g29'/>")
        },
        Bomb("svg-200000-nested-groups") {
            svg(100, String(repeating: "<g>", count: 200_000) + String(repeating: "</g>", count: 200_000))
        },
        Bomb("svg-gigapixel") { svg(1_000_000_000, "<rect width='9' height='9'/>") },
        Bomb("svg-nested-patterns") {
            let patterns = (1..<12).map { level in
                "<pattern id='p\(level)' width='.1' height='.1'><rect width='100' height='100' fill='url(#p\(level - 1))'/></pattern>"
            }
            return svg(
                1000,
                "<pattern id='p0' width='.1' height='.1'><circle r='9'/></pattern>\(patterns.joined())<rect width='1000' height='1000' fill='url(#p11)'/>"
            )
        },
        Bomb("svg-blurs") {
            let filter =
                "<filter id='f'>\(String(repeating: "<feGaussianBlur stdDeviation='400'/>", count: 200))</filter>"
            return svg(3000, filter + "<rect width='3000' height='3000' filter='url(#f)'/>")
        },
        Bomb("svg-morphology") {
            let filter =
                "<filter id='f'>\(String(repeating: "<feMorphology operator='dilate' radius='200'/>", count: 20))</filter>"
            return svg(2000, filter + "<circle r='700' cx='900' cy='900' filter='url(#f)'/>")
        },
        Bomb("svg-20000-layers") {
            let gradient =
                "<radialGradient id='g'><stop stop-color='red'/><stop offset='1' stop-color='blue'/></radialGradient>"
            return svg(
                2000,
                gradient
                    + String(
                        repeating: "<circle cx='1000' cy='1000' r='990' fill='url(#g)' opacity='.5'/>", count: 20_000))
        },
        Bomb("svg-compressed-300-MB") {
            // What gzip adds to the deflated bytes.
            let stream = zeros(300 << 20)
            return Data(joined([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3], Array(stream.dropFirst(2))))
        },
    ]
}
