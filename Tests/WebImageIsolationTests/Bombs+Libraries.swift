import CodingTestSupport
import FoundationEssentials
import WebImageCoding
import WebImageCore
import WebImageTestSupport

/// Files that take a library more time or memory than anything in their headers tells.
extension Bomb {
    static let libraries = jpeg2000 + vectors + others

    private static let jpeg2000 = [
        Bomb("j2k-100-components") {
            CodestreamMaker(width: 3000, height: 3000, components: components(100)).data
        },
        Bomb("j2k-components-and-resolutions") {
            CodestreamMaker(width: 8, height: 8, components: components(16_384), levels: 32, layers: 100).data
        },
        Bomb("j2k-65025-tiles") {
            CodestreamMaker(width: 255, height: 255, tile: (1, 1), levels: 0, tileCount: 65_025).data
        },
        Bomb("j2k-precincts") { CodestreamMaker(width: 4000, height: 4000, precinct: 0x11).data },
        Bomb("j2k-precincts-of-one-tile") {
            var maker = CodestreamMaker(width: 4000, height: 4000, precinct: 0x11)
            maker.tileMarkers = maker.style
            maker.precinct = nil
            return maker.data
        },
        Bomb("j2k-code-blocks") { CodestreamMaker(width: 8000, height: 4000, block: 0).data },
        Bomb("j2k-packets") { CodestreamMaker(width: 4000, height: 4000, layers: 65_535, precinct: 0x88).data },
        Bomb("j2k-matrices") {
            var maker = CodestreamMaker(
                width: 100, height: 100, tile: (10, 10), components: components(2000), levels: 0)
            maker.mainMarkers = CodestreamMaker.marker(0x77, Data([0]))
            return maker.data
        },
        Bomb("icns-j2k-100-components") {
            let image = Array(CodestreamMaker(width: 3000, height: 3000, components: components(100)).data)
            let entry = joined(Array("ic07".utf8), big(UInt32(image.count + 8)), image)
            return Data(joined(Array("icns".utf8), big(UInt32(entry.count + 8)), entry))
        },
    ]

    private static func components(_ count: Int) -> [(depth: Int, dx: Int, dy: Int)] {
        Array(repeating: (8, 1, 1), count: count)
    }

    /// 20,000 rules, each compared with 10,000 shapes: librsvg 2.60 takes 3 s for 5,000.
    static let svgRules = Bomb("svg-rules") {
        let rules = (0..<20_000).map { "g g g g g g rect:nth-child(\($0)){fill:red}" }.joined()
        let groups = (String(repeating: "<g>", count: 10), String(repeating: "</g>", count: 10))
        let shapes = String(repeating: "<rect/>", count: 10_000)
        return svg(100, "<style>\(rules)</style>\(groups.0)\(shapes)\(groups.1)")
    }

    static let svgTurbulence = Bomb("svg-turbulence") {
        svg(1500, filtered("<feTurbulence baseFrequency='0.05' numOctaves='1000'/>"))
    }

    private static let vectors = [
        svgRules, svgTurbulence,
        Bomb("svg-matrix-of-24") {
            let matrix = String(repeating: "1 ", count: 576)
            return svg(99, filtered("<feConvolveMatrix order='24' kernelMatrix='\(matrix)'/>"))
        },
        Bomb("svg-40-filter-results") {
            svg(3000, filtered((0..<40).map { "<feFlood result='r\($0)'/>" }.joined()))
        },
        Bomb("svg-large-tile") {
            let pattern = "<pattern id='p' patternUnits='userSpaceOnUse' width='20000' height='20000'>"
            return svg(
                100, pattern + "<rect width='9' height='9'/></pattern><rect width='99' height='99' fill='url(#p)'/>")
        },
        Bomb("svg-long-text") { svg(100, "<text>\(String(repeating: "M", count: 50_000))</text>") },
        Bomb("svg-markers") {
            let points = "M0 0" + String(repeating: "l1 1", count: 20_000)
            let shapes = String(repeating: "<rect width='1' height='1'/>", count: 50)
            return svg(100, "<marker id='m'>\(shapes)</marker><path marker-mid='url(#m)' d='\(points)'/>")
        },
        Bomb("svg-circles-of-uses") {
            let groups = (0..<16).map { group in
                "<g id='g\(group)'>\((0..<16).map { "<use href='#g\($0)'/>" }.joined())</g>"
            }
            return svg(100, groups.joined())
        },
        Bomb("svg-embedded-images") {
            let large = png(7000, 7000, type: 6, rows: zeros(28_001 * 7000)).base64EncodedString()
            let image = "<image width='9' height='9' href='data:image/png;base64,\(large)'/>"
            return svg(100, image + image)
        },
    ]

    private static func filtered(_ primitives: String) -> String {
        "<filter id='f'>\(primitives)</filter><rect width='1500' height='1500' filter='url(#f)'/>"
    }

    private static let others = [
        Bomb("tiff-lzma-4-GB") {
            // A dictionary of 4 GiB for a chunk of one byte.
            let block: [UInt8] = [2, 0, 0x21, 1, 40, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0]
            let stream = joined([0xFD], Array("7zXZ".utf8), [0, 0, 1, 0, 0, 0, 0], block, [0, 0, 0, 0])
            let tags: [(UInt16, UInt32)] = [(259, 34_925), (278, 1), (273, 8), (279, UInt32(stream.count))]
            return tiff(1, 1, tags, content: stream)
        },
        Bomb("avif-100-megapixels") {
            let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            return try Data(contentsOf: folder.appending(path: "Fixtures/boxes/100-megapixels.avif"))
        },
    ]
}
