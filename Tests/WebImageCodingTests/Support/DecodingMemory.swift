import Foundation
import Testing
import WebImageCoding
import WebImageCore
import WebImageTestSupport

/// The memory of decoding, measured in a separate process.
enum DecodingMemory {
    /// Returns the peak, in bytes, above that of the process without an image.
    ///
    /// - Parameters:
    ///   - side: the longest side of the thumbnail; 0 for the whole image.
    ///   - frameCount: the number of frames to decode afterward.
    ///   - limit: the memory limit, in bytes; `nil`, the default, for the library's.
    ///   - pieceCount: the number of pieces in which the file arrives, with a preview after each; `nil`, the default,
    ///     for one.
    static func peak(
        of file: Data, side: Int, frameCount: Int = 0, limit: Int? = nil, pieceCount: Int? = nil
    ) throws -> Int {
        let directory = try TemporaryDirectory()
        let url = try directory.write(file, to: "image")
        var arguments: [String] = []
        if let limit { arguments += ["--limit", "\(limit)"] }
        if let pieceCount { arguments += ["--pieces", "\(pieceCount)"] }
        return try byteCount(arguments + ["\(side)", url.path, "\(frameCount)"]) - plainByteCount.get()
    }

    /// The memory of the process without an image.
    private static let plainByteCount = Result { try byteCount(["0"]) }

    private static func byteCount(_ arguments: [String]) throws -> Int {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let process = Process()
        // In the directory of the test program.
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

extension Checkpoints {
    /// Runs ``expectCancellationAtEach(atLeast:of:)`` on a decoder that gets `data` in two pieces, with a preview
    /// between.
    ///
    /// - Parameter cut: the length of the first piece.
    static func expectCancellationAtEach(
        atLeast minimum: Int, ofDecoding data: Data, cutAt cut: Int,
        by makeDecoder: (Cancellation) throws -> any IncrementalImageDecoder
    ) throws {
        try expectCancellationAtEach(atLeast: minimum) { checkpoints in
            let decoder = try makeDecoder(checkpoints.cancellation)
            try decoder.append(data.prefix(cut))
            _ = try decoder.preview()
            try decoder.append(data.dropFirst(cut))
            _ = try decoder.finish()
        }
    }

    /// Runs `work` to its end, and then once for each of its checks, which must be the last one.
    ///
    /// - Parameter minimum: the least number of checks.
    static func expectCancellationAtEach(atLeast minimum: Int, of work: (Checkpoints) throws -> Void) throws {
        let all = Checkpoints()
        try work(all)
        #expect(all.count >= minimum)
        for number in 1...all.count {
            let checkpoints = Checkpoints(cancellingAt: number)
            #expect(throws: WebImageError.cancelled, "checkpoint \(number)") { try work(checkpoints) }
            #expect(checkpoints.count == number)
        }
    }
}
