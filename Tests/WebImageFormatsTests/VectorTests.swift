import CodingTestSupport
import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding
@testable import WebImageFormats

@Suite(.timeLimit(.minutes(3)), .enabled(if: LibraryFormat.svg.isBuilt)) struct VectorTests {
    private let registry = FormatFiles.registry

    private static func svg(_ attributes: String, _ content: String = "<rect width='100%' height='100%' fill='red'/>")
        -> Data
    { Data("<svg xmlns='http://www.w3.org/2000/svg' \(attributes)>\(content)</svg>".utf8) }

    @Test(arguments: [
        ("width='30' height='20'", 30, 20), ("viewBox='0 0 64 32'", 64, 32), ("width='1in' height='10mm'", 96, 38),
        ("width='50'  viewBox='0 0 100 40'", 50, 20), ("", 300, 150), ("width='0.4' height='0.4'", 1, 1),
    ]) func hasTheSizeOfCSS(attributes: String, width: Int, height: Int) throws {
        let data = Self.svg(attributes)
        #expect(try registry.info(of: data).size == PixelSize(width: width, height: height))
        #expect(try registry.decode(data).pixels.size == PixelSize(width: width, height: height))
    }

    @Test func isDrawnAtTheRequestedSize() throws {
        let data = Self.svg("width='10' height='10'", "<circle cx='5' cy='5' r='5'/>")
        let thumbnail = Thumbnail(.pixels(width: 400, height: 300), mode: .aspectFit)
        let image = try registry.decode(data, options: DecodingOptions(thumbnail: thumbnail))
        #expect(image.pixels.size == PixelSize(width: 300, height: 300))
        // There is always a larger one.
        #expect(image.isThumbnail)
        // Sharp: an edge takes one pixel, not thirty.
        let row = (0..<300).map { image.pixels[$0, 150].w }
        #expect(row.filter { $0 > 0 && $0 < 255 }.count <= 2)
    }

    @Test func loadsNothingExternal() throws {
        let red = FileManager.default.temporaryDirectory.appending(path: "webimage-svg-\(getpid()).png")
        let pixels = try FormatFiles.painting(PixelSize(width: 8, height: 8))
        try registry.encode(Image(pixels: pixels), as: .png).write(to: red)
        defer { try? FileManager.default.removeItem(at: red) }
        for link in [red.absoluteString, red.path, red.lastPathComponent, "http://127.0.0.1:1/a.png"] {
            let data = Self.svg("width='8' height='8'", "<image href='\(link)' width='8' height='8'/>")
            let image = try registry.decode(data)
            #expect(Pixels(image.pixels).bytes.allSatisfy { $0 == 0 })
        }
    }

    @Test func includesNothingExternal() throws {
        let directory = try TemporaryDirectory()
        try directory.write(Self.svg("id='a' width='8' height='8'"), to: "a.svg")
        try directory.write(Data("rect { fill: red }".utf8), to: "a.css")
        let files = [directory.url("a.svg").absoluteString, directory.path("a.svg")]
        let style = directory.url("a.css").absoluteString
        let contents =
            files.map { "<use href='\($0)#a'/>" }
            + files.map { "<xi:include xmlns:xi='http://www.w3.org/2001/XInclude' href='\($0)'/>" }
            + ["<style>@import url(\(style));</style><rect width='8' height='8' fill='none'/>"]
        for content in contents {
            let image = try registry.decode(Self.svg("width='8' height='8'", content))
            #expect(Pixels(image.pixels).bytes.allSatisfy { $0 == 0 }, "\(content)")
        }
        let entity = "<!DOCTYPE svg [<!ENTITY a SYSTEM '\(files[0])'>]>"
        let text = entity + "<svg xmlns='http://www.w3.org/2000/svg' width='8' height='8'>&a;</svg>"
        let image = try? registry.decode(Data(text.utf8))
        #expect(image.map { Pixels($0.pixels).bytes.allSatisfy { $0 == 0 } } ?? true)
    }

    // MARK: XML

    /// As drawing programs abbreviate the names of namespaces.
    @Test func entitiesOfPlainTextAreReplaced() throws {
        let type = "<!DOCTYPE svg [<!-- a ]> --><?b ]>?>\n<!ENTITY svg 'http://www.w3.org/2000/svg'>\n]  >"
        let text = type + "<svg xmlns='&svg;' width='9' height='9'><rect width='9' height='9' fill='red'/></svg>"
        #expect(try registry.decode(Data(text.utf8)).pixels[4, 4] == SIMD4(255, 0, 0, 255))
    }

    @Test(arguments: [
        "<svg xmlns='http://www.w3.org/2000/svg'><g></svg>", "<svg ", "<svg a='1' a='2'/>", "<svg a=1/>",
        "<svg>&</svg>",
        "<svg><!-- </svg>", "<!DOCTYPE svg [",
    ]) func damagedXMLIsRefused(text: String) {
        let error = #expect(throws: WebImageError.self) { try registry.decode(Data(text.utf8)) }
        guard case .decoding(.svg, _, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
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

    @Test(arguments: [
        "<g id='a'><use href='#a'/></g>", "<g id='a'><use href='#b'/></g><g id='b'><use href='#a'/></g>",
        "<pattern id='a' width='9' height='9'><rect width='9' height='9' fill='url(#a)'/></pattern><rect fill='url(#a)'/>",
        "<mask id='a' mask='url(#a)'/><rect width='1' height='1' mask='url(#a)'/>",
    ]) func aCircleOfReferencesEnds(circle: String) throws {
        let data = Self.svg("width='100' height='100'", "<rect width='8' height='8' fill='red'/>\(circle)")
        #expect(try registry.decode(data).pixels[4, 4] == SIMD4(255, 0, 0, 255))
    }

    @Test func embeddedImagesAreShown() throws {
        let pixels = try FormatFiles.painting(PixelSize(width: 8, height: 8))
        let file = try registry.encode(Image(pixels: pixels), as: .png).base64EncodedString()
        let image = "<image width='8' height='8' href='data:image/png;base64,\(file)'/>"
        #expect(try registry.decode(Self.svg("width='8' height='8'", image)).pixels[4, 4] == pixels[4, 4])
        let inner = Self.svg("width='8' height='8'", "<rect width='8' height='8' fill='blue'/>").base64EncodedString()
        let outer = "<image width='8' height='8' href='data:image/svg+xml;base64,\(inner)'/>"
        #expect(
            try registry.decode(Self.svg("width='8' height='8'", outer)).pixels[4, 4] == SIMD4(0, 0, 255, 255))
    }

    @Test(arguments: [
        "<svg xmlns='http://www.w3.org/2000/svg'/>", "\u{FEFF}<?xml version='1.0'?>\n<!-- a --><svg width='1'/>",
        "<!DOCTYPE svg PUBLIC '-//W3C//DTD SVG 1.1//EN' ''><svg/>", "  <svg:svg xmlns:svg='a'/>",
    ]) func isRecognized(text: String) { #expect(ImageFormat(signatureOf: Data(text.utf8)) == .svg) }

    @Test(arguments: ["<html><svg/></html>", "<svgx/>", "<!-- <svg/>", "", "<sv"]) func otherTextIsNot(text: String) {
        #expect(ImageFormat(signatureOf: Data(text.utf8)) == nil)
    }
}
