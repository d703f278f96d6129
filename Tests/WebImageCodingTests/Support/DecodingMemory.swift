import Foundation
import Testing
import WebImageCoding
import WebImageCore
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

/// Counts how often work looks at its cancellation flag, and can set the flag at one of these looks.
struct Checkpoints {
    let cancellation: Cancellation
    private let counter: Lock<Int>

    /// - Parameter number: the look that finds the flag set, counted from 1; `nil` for none.
    init(cancellingAt number: Int? = nil) {
        let counter = Lock(0)
        self.counter = counter
        cancellation = Cancellation { cancellation in
            let count = counter.withLock { count in
                count += 1
                return count
            }
            if count == number { cancellation.cancel() }
        }
    }

    /// How many looks there were.
    var count: Int { counter.withLock { $0 } }

    /// Runs ``expectCancellationAtEach(atLeast:of:)`` on a decoder that gets `data` in two pieces, with a preview between.
    ///
    /// - Parameter cut: how many bytes the first piece has.
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

    /// Runs `work` to its end, and then once for each of its looks, which must be the last it takes.
    ///
    /// - Parameter minimum: how many looks there must be at least.
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
