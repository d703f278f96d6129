public import FoundationEssentials
internal import WebImageCaching
public import WebImageCore

extension ServiceAnswer {
    /// The body of an answer, in pieces of at most 64 KiB.
    ///
    /// ```swift
    /// let service = try ImageService(ImageService.Configuration())
    /// let answer = await service.answer(to: ServiceRequest(target: "/unsafe/w:300/plain/https://example.org/photo.jpg"))
    /// for try await piece in answer.body { print(piece.count) }
    /// ```
    ///
    /// Results of at least 1 MiB that the service stores on disk are read from there as the client takes them, so that a slow client costs
    /// a file descriptor and no memory. Others are in memory, once for all clients.
    public struct Body: Sendable, AsyncSequence {
        fileprivate enum Content: Sendable {
            /// With its share of the memory that answers may take; `nil` for a short one, which takes none.
            case memory(Bytes, ByteBudget.Share?)
            case file(StoredFile)
        }

        private let content: Content
        private let range: Range<Int>

        init(_ data: Data) { (content, range) = (.memory(Bytes(data), nil), 0..<data.count) }
        init(_ file: StoredFile) { (content, range) = (.file(file), 0..<file.byteCount) }

        private init(_ content: Content, _ range: Range<Int>) { (self.content, self.range) = (content, range) }

        /// A part. `part` is within the body.
        subscript(part: Range<Int>) -> Body {
            Body(content, range.lowerBound + part.lowerBound..<range.lowerBound + part.upperBound)
        }

        /// The length in bytes.
        public var count: Int { range.count }

        /// The bytes, if they are in memory; `nil` if the pieces come from a file.
        public var data: Data? {
            guard case .memory(let bytes, _) = content else { return nil }
            return bytes.data[bytes.data.startIndex + range.lowerBound..<bytes.data.startIndex + range.upperBound]
        }

        /// Fills a buffer with the bytes at an offset; returns `false` if they cannot be read. Blocks if they are in a file.
        ///
        /// For servers that ask for the next bytes on a thread of their own.
        public func read(_ offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Bool {
            guard offset >= 0, buffer.count <= count - offset else { return false }
            switch content {
            case .memory(let bytes, _):
                let start = bytes.data.startIndex + range.lowerBound + offset
                return bytes.data.copyBytes(to: buffer, from: start..<start + buffer.count) == buffer.count
            case .file(let file): return file.read(at: range.lowerBound + offset, into: buffer)
            }
        }

        /// Shorter bodies do not count.
        private static let uncountedByteCount = 32 << 10

        /// Returns the body with its memory counted as long as it is there, once for all bodies that have the same; `nil` if it does not fit.
        func counted(by budget: ByteBudget) -> Body? {
            guard count > Self.uncountedByteCount, case .memory(let bytes, _) = content else { return self }
            return bytes.share(of: budget).map { Body(.memory(bytes, $0), range) }
        }

        /// Starts at the first byte.
        public func makeAsyncIterator() -> Iterator { Iterator(rest: self) }

        /// Reads a body piece by piece.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate var rest: Body

            /// Returns the next bytes; `nil` at the end.
            ///
            /// - Throws: ``WebImage/WebImageError/custom(id:message:)`` with the id `service-body` if the file cannot be read.
            public mutating func next(
                isolation actor: isolated (any Actor)? = #isolation
            ) async throws(WebImageError) -> Data? {
                guard rest.count > 0 else { return nil }
                let piece = rest[0..<Swift.min(rest.count, 64 << 10)]
                rest = rest[piece.count..<rest.count]
                if let data = piece.data { return data }
                guard case .file(let file) = piece.content, let data = await file.bytes(piece.range) else {
                    throw .custom(id: "service-body", message: "the stored result cannot be read")
                }
                return data
            }
        }
    }
}

/// Bytes that several bodies have.
private final class Bytes: Sendable {
    private struct Counted {
        weak var share: ByteBudget.Share?
    }

    let data: Data
    private let counted = Lock(Counted())

    init(_ data: Data) { self.data = data }

    func share(of budget: ByteBudget) -> ByteBudget.Share? {
        counted.withLock { counted in
            let share = counted.share ?? budget.holdIfPossible(data.count)
            counted.share = share
            return share
        }
    }
}
