import Foundation
import Testing
import WebImage

/// Incomplete files, such as photographs that were not copied to their end.
@Suite(.timeLimit(.minutes(3))) struct DamageTests {
    let tool: Tool

    init() throws {
        tool = try Tool()
        let photograph = try TestImage(width: 256, height: 256).data(.jpeg)
        _ = try tool.write(photograph.prefix(photograph.count / 2), to: "in.jpg")
    }

    private static let commands = [
        ["convert", "in.jpg", "out.png"], ["get", "in.jpg", "-o", "out.png"], ["hash", "in.jpg"],
        ["compare", "in.jpg", "in.jpg"], ["sheet", "--no-names", "in.jpg", "out.png"],
        ["animate", "in.jpg", "in.jpg", "out.gif"],
    ]

    @Test(arguments: commands) func anIncompleteImageIsRefusedWithTheOptionThatTakesIt(arguments: [String])
        async throws
    {
        let run = try await tool.run(arguments)
        #expect(run.status != 0)
        #expect(run.errors.contains("To take what there is of it: --allow-damage."), "\(run.errors)")
        let taken = try await tool.run(arguments + ["--allow-damage"])
        #expect(taken.status == 0, "\(taken.errors)")
    }

    @Test func whatThereIsOfItIsWrittenWithAWarning() async throws {
        let run = try await tool.run("convert", "--allow-damage", "--json", "in.jpg", "out.png")
        #expect(run.status == 0 && run.errors.contains("in.jpg: incomplete or damaged"), "\(run.errors)")
        #expect(run.output.contains("\"warning\":\"in.jpg: incomplete or damaged"), "\(run.output)")
        let image = try CodecRegistry.shared.decode(tool.contents(of: "out.png"))
        #expect(image.pixels.size == PixelSize(width: 256, height: 256))
        let (first, last) = image.pixels.withUnsafeBytes { bytes in
            (bytes[3], bytes[(255 * image.pixels.bytesPerRow) + 3])
        }
        #expect(first == 255 && last == 0, "the rest is transparent")
    }

    @Test func aCompleteImageHasNoWarning() async throws {
        _ = try tool.write(TestImage().data(.jpeg), to: "whole.jpg")
        let run = try await tool.run("get", "--allow-damage", "--json", "whole.jpg")
        #expect(run.status == 0 && run.errors.isEmpty)
        #expect(try run.object(LoadObject.self).warning == nil)
    }

    @Test func noAdviceIsToLoadAFileAgain() async throws {
        for arguments in [["convert", "in.jpg", "out.png"], ["info", "in.jpg"]] {
            #expect(try await !tool.run(arguments).errors.contains("Load it again"))
        }
    }
}
