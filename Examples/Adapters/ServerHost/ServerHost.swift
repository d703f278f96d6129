public import Foundation

/// Runs an adapter of a server framework without a network: each line of standard input is a request, and its answer is a
/// line of standard output, both as JSON.
public enum ServerHost {
    /// A request. Its body is that of a file, in pieces.
    public struct Request: Decodable, Sendable {
        /// Such as `GET`.
        public let method: String
        /// The path with its query.
        public let target: String
        /// The header fields.
        public let headers: [String: String]
        /// The path of the body; `nil` for none.
        public let file: String?

        /// The body, read from the file as it is asked for.
        public var body: AsyncThrowingStream<Data, any Error> {
            guard let file else { return AsyncThrowingStream { $0.finish() } }
            let pieceByteCount = 1000
            let state = Reader(path: file)
            return AsyncThrowingStream { try state.read(pieceByteCount) }
        }
    }

    /// An answer.
    public struct Answer: Encodable, Sendable {
        /// The status.
        public let status: Int
        /// The header fields.
        public let headers: [String: String]
        /// The body.
        public let body: Data
        /// Whether the body came piece by piece.
        public let isStreamed: Bool

        /// Creates an answer.
        public init(status: Int, headers: [String: String], body: Data, isStreamed: Bool) {
            (self.status, self.headers, self.body, self.isStreamed) = (status, headers, body, isStreamed)
        }
    }

    /// Answers requests, one after the other, until standard input ends.
    public static func run(_ answer: (Request) async throws -> Answer) async throws {
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        Thread.detachNewThread {
            while let line = readLine() { continuation.yield(line) }
            continuation.finish()
        }
        for await line in lines {
            let request = try JSONDecoder().decode(Request.self, from: Data(line.utf8))
            let answer = try await JSONEncoder().encode(answer(request))
            try FileHandle.standardOutput.write(contentsOf: answer + Data("\n".utf8))
        }
    }

    /// Reads a file, for the one reader of a body.
    private final class Reader: @unchecked Sendable {
        private let handle: FileHandle?

        init(path: String) { handle = FileHandle(forReadingAtPath: path) }

        func read(_ byteCount: Int) throws -> Data? {
            let data = try handle?.read(upToCount: byteCount)
            return data?.isEmpty == false ? data : nil
        }
    }
}
