import FoundationEssentials
import Glibc
import Testing
import WebImageTestSupport

@testable import WebImageCore

/// Files that are read where they are.
@Suite(.timeLimit(.minutes(1))) struct MappedFileTests {
    private static let byteCount = 6 << 20

    /// The memory of a mapping, in KiB.
    private func residentKibibytes(of data: Data) throws -> Int? {
        let address = data.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
        // The file has no length, and comes in pieces of some pages.
        let file = try #require(fopen("/proc/self/smaps", "r"))
        defer { fclose(file) }
        var (bytes, piece) = ([UInt8](), [UInt8](repeating: 0, count: 1 << 16))
        while case let count = fread(&piece, 1, piece.count, file), count > 0 { bytes += piece[..<count] }
        let text = String(decoding: bytes, as: UTF8.self)
        let lines = text.split(separator: "\n").drop { line in
            // Such as 7f0000000000-7f0000600000 r--p …
            let bounds = line.prefix { $0 != " " }.split(separator: "-").map { UInt($0, radix: 16) }
            guard bounds.count == 2, let start = bounds[0], let end = bounds[1] else { return true }
            return !(start..<end).contains(address)
        }
        let line = lines.first { $0.hasPrefix("Rss:") }
        return line.flatMap { Int($0.split(separator: " ")[1]) }
    }

    @Test func whatIsReleasedTakesNoMemoryAndIsReadAgain() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "webimage-mapped-\(getpid())").path
        let bytes = [UInt8](unsafeUninitializedCapacity: Self.byteCount) { buffer, count in
            for index in 0..<Self.byteCount { buffer[index] = UInt8(truncatingIfNeeded: index * 7 >> 3) }
            count = Self.byteCount
        }
        try Data(bytes).write(to: URL(filePath: path))
        defer { unlink(path) }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        let data = try #require(MappedFile.data(of: descriptor, byteCount: Self.byteCount))
        #expect(data.withUnsafeBytes { $0.elementsEqual(bytes) })
        // The system may take back some of them at any time.
        let before = try #require(try residentKibibytes(of: data))
        // Pages at both ends are not released, because a part of them is not.
        data.withUnsafeBytes { #expect(MappedFile.release(UnsafeRawBufferPointer(rebasing: $0[1..<$0.count - 1]))) }
        let after = try #require(try residentKibibytes(of: data))
        #expect(before > 1_000 && after <= 8, "\(before) KiB, then \(after) KiB")
        #expect(data.withUnsafeBytes { $0.elementsEqual(bytes) })
        // Bytes that are in no file stay as they are.
        bytes.withUnsafeBytes { #expect(!MappedFile.release($0)) }
        #expect(bytes[12345] == UInt8(truncatingIfNeeded: 12345 * 7 >> 3))
    }
}
