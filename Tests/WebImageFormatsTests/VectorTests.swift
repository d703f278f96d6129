import CodingTestSupport
import Foundation
import Testing
import WebImageCore

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

    @Test func refusesABombOfEntities() {
        let entities = (1...9).map { "<!ENTITY a\($0) '\(String(repeating: "&a\($0 - 1);", count: 10))'>" }.joined()
        let text = """
            <!DOCTYPE svg [<!ENTITY a0 'aaaaaaaaaa'>\(entities)]>
            <svg xmlns='http://www.w3.org/2000/svg'><text>&a9;</text></svg>
            """
        #expect(throws: WebImageError.self) { try LibraryDecoder(.svg).decode(Data(text.utf8), options: .init()) }
    }

    @Test(arguments: [
        "<svg xmlns='http://www.w3.org/2000/svg'/>", "\u{FEFF}<?xml version='1.0'?>\n<!-- a --><svg width='1'/>",
        "<!DOCTYPE svg PUBLIC '-//W3C//DTD SVG 1.1//EN' ''><svg/>", "  <svg:svg xmlns:svg='a'/>",
    ]) func isRecognized(text: String) { #expect(ImageFormat(signatureOf: Data(text.utf8)) == .svg) }

    @Test(arguments: ["<html><svg/></html>", "<svgx/>", "<!-- <svg/>", "", "<sv"]) func otherTextIsNot(text: String) {
        #expect(ImageFormat(signatureOf: Data(text.utf8)) == nil)
    }
}
