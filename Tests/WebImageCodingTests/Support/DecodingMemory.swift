import Foundation
import Testing
import WebImageTestSupport

/// How much memory a decode takes, measured in a process of its own.
enum DecodingMemory {
    /// In bytes, above what the process has without a picture. The picture becomes a thumbnail with a longest side of `side`, or
    /// stays as large as it is where that is 0.
    ///
    /// - Parameters:
    ///   - frameCount: how many frames are made of it afterwards.
    ///   - limit: the limit on memory, in bytes; `nil`, the default, for the library's.
    ///   - pieceCount: in how many pieces the file arrives, with a preview after each; `nil`, the default, for all at once.
    static func peak(
        of file: Data, side: Int, frameCount: Int = 0, limit: Int? = nil, pieceCount: Int? = nil
    ) throws -> Int {
        let directory = try TemporaryDirectory()
        let url = try directory.write(file, to: "picture")
        var arguments: [String] = []
        if let limit { arguments += ["--limit", "\(limit)"] }
        if let pieceCount { arguments += ["--pieces", "\(pieceCount)"] }
        return try byteCount(arguments + ["\(side)", url.path, "\(frameCount)"]) - byteCount(["\(side)"])
    }

    private static func byteCount(_ arguments: [String]) throws -> Int {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let process = Process()
        // Beside the test program.
        process.executableURL = URL(filePath: tests).deletingLastPathComponent().appending(path: "DecodeMemoryProbe")
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        return try #require(Int(text.trimmingCharacters(in: .whitespacesAndNewlines)), "\(text)")
    }
}
