import Foundation
import Testing
import WebImageCoding
import WebImageCore

@testable import WebImageDrawing

@Suite(.timeLimit(.minutes(3))) struct ProcessingPageTests {
    private static let documentation = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Documentation")

    /// Set by `make pictures`.
    private static let isWriting = ProcessInfo.processInfo.environment["WEBIMAGE_PICTURES"] == "1"

    @Test func everyLineMakesADifferentImage() throws {
        let source = try Landscape.image()
        var files = [ProcessingPage.sourceFileName: try ProcessingPage.jpeg(of: source)]
        for entry in ProcessingPage.entries {
            let result = try entry.make(source)
            #expect(bytes(of: result) != bytes(of: source), "\(entry.title) changes nothing")
            #expect(files.updateValue(try ProcessingPage.jpeg(of: result), forKey: entry.fileName) == nil)
        }
        #expect(files.values.reduce(0) { $0 + $1.count } < 400_000)
        if Self.isWriting { try write(files) }
    }

    @Test(.enabled(if: !isWriting)) func thePageMatchesTheTable() throws {
        let page = try String(contentsOf: Self.documentation.appending(path: "Processing.md"), encoding: .utf8)
        #expect(page == ProcessingPage.markdown, "run `make pictures`")
        let images = Self.documentation.appending(path: "Images")
        let names = try FileManager.default.contentsOfDirectory(atPath: images.path)
        let expected = ProcessingPage.entries.map(\.fileName) + [ProcessingPage.sourceFileName]
        #expect(Set(names.filter { $0.hasPrefix("processing-") }) == Set(expected), "run `make pictures`")
    }

    private func write(_ files: [String: Data]) throws {
        let images = Self.documentation.appending(path: "Images")
        for name in try FileManager.default.contentsOfDirectory(atPath: images.path)
        where name.hasPrefix("processing-") {
            try FileManager.default.removeItem(at: images.appending(path: name))
        }
        for (name, data) in files { try data.write(to: images.appending(path: name)) }
        let page = Self.documentation.appending(path: "Processing.md")
        try ProcessingPage.markdown.write(to: page, atomically: true, encoding: .utf8)
    }
}
