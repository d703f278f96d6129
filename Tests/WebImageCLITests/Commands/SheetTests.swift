import Foundation
import ProgramSupport
import Testing
import WebImage
import WebImageCore

@testable import WebImageCLI

@Suite(.timeLimit(.minutes(3))) struct SheetTests {
    let tool: Tool

    init() throws {
        tool = try Tool()
        for number in 0..<5 { _ = try tool.write(TestImage(number: number).data(.png), to: "in/\(number).png") }
    }

    private struct Object: Decodable {
        var path: String?
        var format: String?
        var width: Int
        var height: Int
        var images: Int
    }

    private func sheet(_ arguments: String...) async throws -> Image {
        let run = try await tool.run(["sheet", "-r", "in", "sheet.png", "--size", "64x48"] + arguments)
        #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
        return try CodecRegistry.shared.decode(tool.contents(of: "sheet.png"))
    }

    @Test func drawsImagesInRows() async throws {
        let image = try await sheet("--columns", "3", "--gap", "10", "--no-names", "--sheet-color", "#102030")
        #expect(image.pixels.size == PixelSize(width: 10 + 3 * 74, height: 10 + 2 * 58))
        for number in 0..<5 {
            let place = PixelRect(x: 10 + number % 3 * 74, y: 10 + number / 3 * 58, width: 64, height: 48)
            let part = try await image.processed(by: [.crop(toPixels: place)])
            #expect(try largestDifference(part, TestImage(number: number).image()) == 0)
        }
        for (x, y) in [(0, 0), (200, 100), (9, 60)] { #expect(image.pixels[x, y] == SIMD4(16, 32, 48, 255)) }
    }

    @Test func countsASingleImageInTheSingular() async throws {
        let run = try await tool.run("sheet", "in/0.png", "sheet.png", "--no-names")
        #expect(run.output.hasPrefix("1 image: "), "\(run.output)\(run.errors)")
    }

    /// Programs with other formats have SVG as well.
    @Test(Tool.canWrite(.avif)) func drawsNamesBelow() async throws {
        let image = try await sheet("--columns", "5", "--gap", "10")
        let height = SheetLayout(
            count: 5, cell: PixelSize(width: 64, height: 48), columns: 5, gap: 10, hasNames: true
        ).labelHeight
        #expect(image.pixels.size.height == 10 + 48 + height + 10)
        for number in 0..<5 {
            let label = PixelRect(x: 10 + number * 74, y: 58, width: 64, height: height)
            let part = try await image.processed(by: [.crop(toPixels: label)])
            let darkCount = (0..<part.height).reduce(0) { count, y in
                count + (0..<part.width).count { part.pixels[$0, y].x < 128 }
            }
            #expect(darkCount > 20, "\(number) has no name")
        }
    }

    @Test func centersSmallImagesAndTransparentSheets() async throws {
        let run = try await tool.run(
            "sheet", "in/0.png", "--size", "100", "--no-names", "--gap", "0", "--sheet-color", "#00000000", "-o",
            "s.png",
            "--json")
        let object = try run.object(Object.self)
        #expect([object.width, object.height, object.images] == [100, 100, 1] && object.path == "s.png")
        let image = try CodecRegistry.shared.decode(tool.contents(of: "s.png"))
        #expect(image.pixels[17, 50].w == 0 && image.pixels[18, 50].w == 255 && image.pixels[50, 25].w == 0)
    }

    @Test func aBrokenImageLeavesItsCellEmpty() async throws {
        _ = try tool.write(TestImage.damaged().prefix(40), to: "in/2.png")
        let run = try await tool.run(
            "sheet", "-r", "in", "sheet.png", "--size", "64x48", "--no-names", "--columns", "5", "--gap", "0", "--json")
        #expect(run.status == 1 && run.errors.contains("in/2.png"))
        #expect(try run.object(Object.self).images == 4)
        let image = try CodecRegistry.shared.decode(tool.contents(of: "sheet.png"))
        #expect(image.pixels[150, 20] == SIMD4(255, 255, 255, 255))
        #expect(image.pixels[200, 20] != SIMD4(255, 255, 255, 255))
    }

    @Test @MainActor func refusesASheetThatProgramsCannotRead() {
        // With too many pixels, and with too long a side.
        for size in ["40000x40000", "1x65500"] {
            let arguments = ["in/0.png", "sheet.png", "--no-names", "--gap", "50", "--size", size]
            #expect {
                try SheetCommand(arguments.map { SystemString($0) })
            } throws: { error in
                if case ArgumentError.usage(_, let reason) = error {
                    reason.english.contains("use a smaller --size")
                } else {
                    false
                }
            }
        }
    }

    @Test func choosesColumnsForASheetOf4To3() {
        func layout(_ count: Int) -> SheetLayout {
            SheetLayout(count: count, cell: PixelSize(width: 240, height: 180), columns: nil, gap: 16, hasNames: true)
        }
        for count in [20, 100, 777] {
            let size = layout(count).size
            #expect((1.0...1.7).contains(Double(size.width) / Double(size.height)), "\(count): \(size)")
        }
        #expect(layout(1).columns == 1 && layout(2).rows == 1)
        #expect(layout(100).columns * layout(100).rows >= 100)
    }

    @Test(arguments: [
        ("short.jpg", "short.jpg"), ("a-very-long-name-of-a-photograph.jpg", "a-very-l…aph.jpg"),
        ("写真写真写真写真写真写真.jpg", "写真写…写.jpg"),
    ])
    func leavesOutTheMiddleOfLongNames(name: String, shown: String) {
        let text = SheetLabels.shortened(name, toWidth: 16)
        #expect(text.contains("…") == shown.contains("…"))
        #expect(text.hasPrefix(String(name.prefix(2))) && text.hasSuffix(".jpg"))
        #expect(text.unicodeScalars.reduce(0) { $0 + ($1.value < 0x0530 ? 1 : 2) } <= 17)
    }
}
