import CodingTestSupport
import Foundation
import Testing
import WebImageCore

@testable import WebImageCoding
@testable import WebImageFormats

/// What of an SVG is refused before librsvg sees it.
@Suite(.timeLimit(.minutes(3)), .enabled(if: LibraryFormat.svg.isBuilt)) struct VectorBoundsTests {
    private let registry = FormatFiles.registry

    private static func svg(_ content: String, _ attributes: String = "width='100' height='100'") -> Data {
        Data(
            """
            <svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink' \(attributes)>\
            \(content)</svg>
            """.utf8)
    }

    private func error(of data: Data) -> WebImageError? {
        do throws(WebImageError) {
            _ = try registry.decode(data)
            return nil
        } catch { return error }
    }

    private func isTooComplex(_ content: String, _ attributes: String = "width='100' height='100'") -> Bool {
        if case .limitExceeded(.complexity, _) = error(of: Self.svg(content, attributes)) { return true }
        return false
    }

    private func exceedsMemory(_ content: String, _ attributes: String = "width='100' height='100'") -> Bool {
        if case .limitExceeded(.memory, _) = error(of: Self.svg(content, attributes)) { return true }
        return false
    }

    private static func filter(_ primitives: String, use: String = "<rect width='99' height='99' filter='url(#f)'/>")
        -> String
    { "<filter id='f'>\(primitives)</filter>\(use)" }

    // MARK: XML

    @Test(arguments: [
        "<!DOCTYPE svg [<!ENTITY a 'x'><!ENTITY b '&a;'>]><svg>&b;</svg>", "<svg>&nbsp;</svg>",
        "<!DOCTYPE svg [<!ENTITY a '<g/>'>]><svg>&a;</svg>", "<!DOCTYPE svg [<!ENTITY a '&#60;g/>'>]><svg>&a;</svg>",
        "<!DOCTYPE svg [<!ENTITY % a 'x'>]><svg/>", "<!DOCTYPE svg [%a;]><svg/>",
        "<!DOCTYPE svg [<!ENTITY a SYSTEM '/etc/passwd'>]><svg>&a;</svg>",
        "<!DOCTYPE svg [<!ATTLIST rect filter CDATA 'url(#f)'>]><svg/>",
        "<!DOCTYPE svg SYSTEM 'a' [<!ELEMENT a ANY>]><svg/>",
    ]) func entitiesOfMoreThanPlainTextAreRefused(text: String) {
        guard case .decoding(.svg, .unsupported, _) = error(of: Data(text.utf8)) else {
            Issue.record("\(text) is not refused")
            return
        }
    }

    /// As drawing programs abbreviate the names of namespaces.
    @Test func entitiesOfPlainTextAreReplaced() throws {
        let declarations = "<!-- a ]> --><?b ]>?>\n<!ENTITY svg 'http://www.w3.org/2000/svg'><!ENTITY svg \"other\" >"
        for type in ["", "<!DOCTYPE svg [ ]>", "<!DOCTYPE svg PUBLIC 'a' \"b\" [\(declarations)\n]  >"] {
            let name = type.contains("ENTITY") ? "&svg;" : "http://www.w3.org/2000/svg"
            let text = type + "<svg xmlns='\(name)' width='9' height='9'><rect width='9' height='9' fill='red'/></svg>"
            let image = try registry.decode(Data(text.utf8))
            #expect(Pixels(image.pixels).bytes.prefix(4) == [255, 0, 0, 255])
        }
    }

    @Test func entitiesAreBounded() {
        let many = (0...64).map { "<!ENTITY a\($0) 'x'>" }.joined()
        let long = "<!ENTITY a '\(String(repeating: "x", count: 1000))'>"
        let uses = String(repeating: "<g id='&a;'/>", count: 100)
        for text in ["<!DOCTYPE svg [\(many)]><svg/>", "<!DOCTYPE svg [\(long)]><svg>\(uses)</svg>"] {
            guard case .limitExceeded(.complexity, _) = error(of: Data(text.utf8)) else {
                Issue.record("not refused: \(text.prefix(60))")
                return
            }
        }
    }

    @Test(arguments: [
        "<svg><g></svg>", "<svg ", "<svg></svg><svg/>", "<svg a='1' a='2'/>", "<svg a=1/>", "<svg a='<'/>",
        "<svg>&</svg>",
        "<svg>&#0;</svg>", "<svg/>text", "<svg>\u{1}</svg>", "<svg><![CDATA[\u{2}]]></svg>", "<svg><![CDATA[</svg>",
        "<svg><!-- </svg>",
        "<!DOCTYPE svg [", "<!DOCTYPE svg [<!ENTITY a 'x", "<!DOCTYPE svg [<!ENTITY a 'x'",
        "<!DOCTYPE svg [<!ENTITYa 'x'>]><svg/>",
    ]) func damagedXMLIsRefused(text: String) {
        guard case .decoding(.svg, _, _) = error(of: Data(text.utf8)) else {
            Issue.record("\(text) is not refused")
            return
        }
    }

    @Test func deepNestingIsRefused() {
        #expect(isTooComplex(String(repeating: "<g>", count: 300) + String(repeating: "</g>", count: 300)))
    }

    @Test(arguments: [
        ("<?xml version='1.0' encoding='ISO-8859-1'?>", String.Encoding.isoLatin1),
        ("<?xml version='1.0' encoding='windows-1252'?>", .windowsCP1252), ("<?xml version='1.0'?>", .utf8),
    ]) func encodingsAreRead(declaration: String, encoding: String.Encoding) throws {
        let text =
            declaration + "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><g id='é'/>"
            + "<defs><rect id='ä' width='9' height='9' fill='lime'/></defs><use href='#ä'/></svg>"
        let image = try registry.decode(try #require(text.data(using: encoding)))
        #expect(image.pixels[4, 4] == SIMD4(0, 255, 0, 255))
    }

    @Test(arguments: ["UTF-7", "Shift_JIS", "UTF-32", "EBCDIC-US"]) func otherEncodingsAreRefused(name: String) {
        let data = Data("<?xml version='1.0' encoding='\(name)'?><svg width='9' height='9'/>".utf8)
        #expect(error(of: data) == .decoding(format: .svg, reason: .unsupported("the encoding '\(name.lowercased())'")))
    }

    @Test func textOfXMLStaysWhatItWas() throws {
        // Line breaks, references, CDATA and comments between parts.
        let text = """
            <svg xmlns='http://www.w3.org/2000/svg' width='8' height='8'><style><![CDATA[ g > .a { fill: #00f } ]]></style>\r
            <!-- <rect/> --><?pi?><g><rect class='a&#32;b' width='&#x38;' height="8"\n/></g></svg>
            """
        #expect(try registry.decode(Data(text.utf8)).pixels[4, 4] == SIMD4(0, 0, 255, 255))
    }

    // MARK: Filters

    @Test func aMatrixThatEndsTheProcessIsRefused() {
        func matrix(_ order: String, _ count: Int) -> String {
            Self.filter("<feConvolveMatrix order='\(order)' kernelMatrix='\(String(repeating: "1 ", count: count))'/>")
        }
        #expect(isTooComplex(matrix("24", 576)))
        #expect(isTooComplex(matrix("21 20", 420)))
        #expect(isTooComplex(matrix("2", 500)))
        #expect(error(of: Self.svg(matrix("20", 400))) == nil)
    }

    @Test func filtersThatTakeTooLongAreRefused() {
        let size = "width='4000' height='4000'"
        let turbulence = "<feTurbulence baseFrequency='0.05' numOctaves='1000'/>"
        #expect(isTooComplex(Self.filter(turbulence), size))
        #expect(isTooComplex(Self.filter("<feMorphology radius='300'/>"), size))
        #expect(isTooComplex(Self.filter("<feMorphology radius='3'/>"), size + " viewBox='0 0 40 40'"))
        let enlarged = Self.filter(
            "<feMorphology radius='3'/>", use: "<g transform='scale(100)'><rect filter='url(#f)'/></g>")
        #expect(isTooComplex(enlarged, size))
        #expect(
            isTooComplex(
                "<filter id='f' primitiveUnits='objectBoundingBox'><feMorphology radius='0.2'/></filter>"
                    + "<rect width='9' height='9' filter='url(#f)'/>", size))
        #expect(
            isTooComplex(Self.filter("<feConvolveMatrix kernelUnitLength='0.01' kernelMatrix='1 1 1 1 1 1 1 1 1'/>")))
        // The same filters are fine in a small image.
        #expect(error(of: Self.svg(Self.filter("<feMorphology radius='3'/><feGaussianBlur stdDeviation='2'/>"))) == nil)
    }

    @Test(arguments: [
        "<rect style='filter:url(#f)'/>", "<rect style='f\\69lter: URL( \"#f\" )'/>",
        "<rect style='filter/**/:url(#f)'/>",
        "<style>.a{filter:url(#f)}</style><rect class='b a'/>", "<style>rect{a:{};filter:url(#f)}</style><rect/>",
        "<style>@media all{g>rect:first-child{filter:url(#f)}}</style><rect/>",
        "<g filter='url(#f)'><rect filter='inherit'/></g>",
        "<style><![CDATA[#r{fi\\6c ter:url(#f)}]]></style><rect id='r'/>",
        "<use xlink:href='#s'/><defs><g id='s' filter='url(#f)'/></defs>",
        "<style>a{b:\"}\";} /* \" */ rect{filter:url(#f)}</style><rect/>",
    ]) func aFilterIsFoundHoweverItIsApplied(use: String) {
        let primitive = "<feTurbulence numOctaves='1000'/>"
        let size = "width='1500' height='1500'"
        #expect(isTooComplex(Self.filter(primitive, use: use), size))
    }

    @Test func manyResultsOfFiltersCountAsMemory() {
        let primitives = (0..<40).map { "<feFlood result='r\($0)'/>" }.joined()
        #expect(exceedsMemory(Self.filter(primitives), "width='3000' height='3000'"))
    }

    // MARK: References

    /// Each level uses the one below ten times.
    private static func levels(_ reference: (Int) -> String) -> String {
        (1...8).map { reference($0) }.joined()
    }

    @Test func expansionIsRefused() {
        let uses = Self.levels { level in
            "<g id='a\(level)'>" + String(repeating: "<use xlink:href='#a\(level - 1)'/>", count: 10) + "</g>"
        }
        #expect(isTooComplex("<defs><rect id='a0' width='1' height='1'/>\(uses)</defs><use href='#a8'/>"))
        for name in ["pattern", "mask", "clipPath"] {
            let property = ["pattern": "fill", "mask": "mask", "clipPath": "clip-path"][name] ?? ""
            let chain = Self.levels { level in
                "<\(name) id='a\(level)' width='1' height='1'>"
                    + String(repeating: "<rect width='1' height='1' \(property)='url(#a\(level - 1))'/>", count: 10)
                    + "</\(name)>"
            }
            #expect(
                isTooComplex("<\(name) id='a0'/>\(chain)<rect width='9' height='9' \(property)='url(#a8)'/>"), "\(name)"
            )
        }
        let points = "M0 0" + String(repeating: "l1 1", count: 20000)
        let marker = "<marker id='m'>" + String(repeating: "<rect width='1' height='1'/>", count: 50) + "</marker>"
        #expect(isTooComplex("\(marker)<g marker-mid='url(#m)'><path d='\(points)'/></g>"))
    }

    @Test(arguments: [
        "<g id='a'><use href='#a'/></g>", "<use id='a' href='#a'/>",
        "<g id='a'><use href='#b'/></g><g id='b'><use href='#a'/></g>",
        "<pattern id='a' width='9' height='9'><rect width='9' height='9' fill='url(#a)'/></pattern><rect fill='url(#a)'/>",
        "<mask id='a' mask='url(#a)'/><rect width='1' height='1' mask='url(#a)'/>",
    ]) func aCircleOfReferencesEndsWhereItCloses(circle: String) throws {
        let image = try registry.decode(Self.svg("\(circle)<rect width='8' height='8' fill='red'/>"))
        #expect(image.pixels[4, 4] == SIMD4(255, 0, 0, 255))
    }

    @Test func tooManyCirclesAreRefused() {
        let groups = (0..<16).map { group in
            "<g id='g\(group)'>\((0..<16).map { "<use href='#g\($0)'/>" }.joined())</g>"
        }
        #expect(isTooComplex(groups.joined()))
    }

    /// Each group draws what is in it once more before the circle closes.
    @Test func whatACircleRepeatsIsCounted() {
        let shapes = String(repeating: "<rect/>", count: 1000)
        var content = "<g id='g0'>\(shapes)<use href='#g0'/></g>"
        for level in 1..<12 { content = "<g id='g\(level)'>\(content)<use href='#g\(level)'/></g>" }
        #expect(isTooComplex(content))
    }

    @Test func tilesOfPatternsCountAsMemory() {
        let rect = "<rect width='100' height='100' fill='url(#p)'/>"
        #expect(exceedsMemory("<pattern id='p' patternUnits='userSpaceOnUse' width='20000' height='20000'/>\(rect)"))
        #expect(exceedsMemory("<pattern id='p' width='1' height='1'/><path d='M0 0h30000v30000z' fill='url(#p)'/>"))
        #expect(
            exceedsMemory(
                "<pattern id='q' width='20000' height='20000'/><pattern id='p' patternUnits='userSpaceOnUse'"
                    + " href='#q'/>\(rect)"))
        let enlarged =
            "<g transform='scale(300)'><pattern id='p' patternUnits='userSpaceOnUse' width='90' height='90'/>\(rect)</g>"
        #expect(exceedsMemory(enlarged))
        #expect(
            error(of: Self.svg("<pattern id='p' patternUnits='userSpaceOnUse' width='9' height='9'/>\(rect)")) == nil)
    }

    // MARK: Amounts

    @Test func longTextIsRefused() {
        #expect(isTooComplex("<text>\(String(repeating: "M", count: 30_000))</text>"))
        #expect(isTooComplex("<text>" + String(repeating: "<tspan>MM</tspan>", count: 15_000) + "</text>"))
        #expect(error(of: Self.svg("<text>\(String(repeating: "M", count: 500))</text>")) == nil)
    }

    @Test func manyElementsAreRefused() {
        #expect(isTooComplex(String(repeating: "<g/>", count: 200_001)))
        let stops = String(repeating: "<stop/>", count: 10_001)
        #expect(isTooComplex("<linearGradient>\(stops)</linearGradient>"))
        let points = "<path d='M0 0\(String(repeating: "1 1 ", count: 700_000))'/>"
        var options = DecodingOptions()
        options.limits.memoryByteCount = 64 << 20
        #expect(throws: WebImageError.self) { try registry.decode(Self.svg(points), options: options) }
    }

    // MARK: Images in the document

    private func png(side: Int) throws -> Data {
        let pixels = try MutablePixelBuffer(width: side, height: side).freeze(isOpaque: false)
        return try registry.encode(Image(pixels: pixels), as: .png)
    }

    @Test func embeddedImagesCount() throws {
        let large = try png(side: 7000).base64EncodedString()
        let image = "<image width='9' height='9' xlink:href='data:image/png;base64,\(large)'/>"
        #expect(exceedsMemory(image + image))
        let nested = Self.svg(image + image).base64EncodedString()
        #expect(exceedsMemory("<image width='9' height='9' href='data:image/svg+xml;base64,\(nested)'/>"))
        #expect(
            exceedsMemory(
                Self.filter("<feImage href='data:image/png;base64,\(large)'/><feImage href='data:;base64,\(large)'/>")))
    }

    @Test func embeddedImagesAreShown() throws {
        let pixels = try FormatFiles.painting(PixelSize(width: 8, height: 8))
        let file = try registry.encode(Image(pixels: pixels), as: .png).base64EncodedString()
        for text in [file, file.replacingOccurrences(of: "=", with: "%3D") + "\n "] {
            let data = Self.svg(
                "<image width='8' height='8' href='data:image/png;base64,\(text)'/>", "width='8' height='8'")
            #expect(try registry.decode(data).pixels[4, 4] == pixels[4, 4])
        }
        let inner = Self.svg("<rect width='8' height='8' fill='blue'/>", "width='8' height='8'").base64EncodedString()
        let outer = Self.svg(
            "<image width='8' height='8' href='data:image/svg+xml;base64,\(inner)'/>", "width='8' height='8'")
        #expect(try registry.decode(outer).pixels[4, 4] == SIMD4(0, 0, 255, 255))
    }

    @Test(arguments: [
        "<use href='data:image/svg+xml,#a'/>", "<rect fill='url(data:image/svg+xml;base64,AA#a)'/>",
        "<style>@import url(data:text/css,a);</style>", "<style>\\40import 'data:text/css,a';</style>",
        "<xi:include xmlns:xi='http://www.w3.org/2001/XInclude' href='data:image/svg+xml,a'/>",
    ]) func documentsAreNotLoadedFromReferences(content: String) {
        guard case .decoding(.svg, .unsupported, _) = error(of: Self.svg(content)) else {
            Issue.record("\(content) is not refused")
            return
        }
    }
}
