import Testing
@testable import WebImageIsolation

@testable import WebImageDecoder

@Suite(.timeLimit(.minutes(3))) struct OutputMemoryTests {
    private static let page = 64 << 10
    private let memory: OutputMemory

    init() throws { memory = try #require(OutputMemory(SharedMemory(byteCount: 8 * Self.page))) }

    private func take(_ pageCount: Int) throws -> UnsafeMutableRawPointer {
        try #require(memory.take(byteCount: pageCount * Self.page))
    }

    @Test func aBlockTakesTheFirstGapThatIsLongEnough() throws {
        let first = try take(2)
        let second = try take(1)
        #expect(second == first + 2 * Self.page)
        memory.release(first, byteCount: 2 * Self.page)
        // The gap is too short for it.
        #expect(try take(3) == first + 3 * Self.page)
        #expect(try take(2) == first)
    }

    @Test func nothingIsTakenBeyondTheEnd() throws {
        _ = try take(6)
        #expect(memory.take(byteCount: 3 * Self.page) == nil)
        _ = try take(2)
        #expect(memory.take(byteCount: 1) == nil)
    }
}
