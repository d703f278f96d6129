import FoundationEssentials
import Glibc
import Testing
import WebImageCoding
import WebImageCore
import WebImageTestSupport

@testable import WebImageIsolation

/// A file is copied once for all that use it at the same time.
@Suite(.timeLimit(.minutes(3))) struct SharedFilesTests {
    private let file = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })

    private func bytes(_ memory: SharedMemory) throws -> Data {
        let mapping = try #require(memory.mapped(.reading))
        return withExtendedLifetime(mapping) { Data(mapping.bytes) }
    }

    @Test func operationsOnTheSameBytesShareACopy() throws {
        let files = SharedFiles()
        let memory = try files.memory(of: file)
        #expect(try files.memory(of: file) === memory)
        #expect(try bytes(memory) == file)
        // Other bytes, although they begin at the same place or are equal.
        #expect(try bytes(files.memory(of: file.prefix(50_000))) == file.prefix(50_000))
        #expect(try files.memory(of: Data(Array(file))) !== memory)
        #expect(try bytes(files.memory(of: file.dropFirst(1000))) == file.dropFirst(1000))
    }

    @Test func theCopyEndsWithTheLastOperation() throws {
        let files = SharedFiles()
        let first = { try bytes(files.memory(of: file)) }
        #expect(try first() == file)
        #expect(files.count == 0)
        var memory: SharedMemory? = try files.memory(of: file)
        #expect(files.count == 1)
        #expect(memory != nil)
        memory = nil
        #expect(files.count == 0)
    }

    @Test func bytesThatChangeMeanwhileAreAnotherFile() throws {
        let files = SharedFiles()
        var changed = file
        let memory = try files.memory(of: changed)
        changed[5] ^= 0xFF
        #expect(try bytes(files.memory(of: changed)) == changed)
        #expect(try bytes(memory) == file)
    }

    @Test func bytesWithoutAPlaceOfTheirOwnAreNotShared() throws {
        let files = SharedFiles()
        var kept: [SharedMemory] = []
        for value in 0..<8 as Range<UInt8> {
            let short = Data([value, 1, 2])
            kept.append(try files.memory(of: short))
            #expect(try bytes(try #require(kept.last)) == short)
        }
    }

    @Test func readersOfAnAnimationShareItsFile() throws {
        let isolation = IsolatedDecoding(configuration: .init(decoder: "webimage-decoder") { $0.processCount = 1 })
        let registry = CodecRegistry().isolated(by: .allFormats, in: isolation)
        // Decoders ignore what follows the end of the file.
        let data = try CodecRegistry().encode(IsolatedDecodingTests.animation(), as: .gif) + Data(count: 20_000)
        let animation = try #require(try registry.decode(data).animation)
        #expect(isolation.files.count == 0)
        let readers = (0..<4).map { _ in animation.makeFrameReader() }
        for reader in readers { _ = try reader.frame(at: 2, cancellation: nil) }
        #expect(isolation.files.count == 1)
        withExtendedLifetime(readers) {}
    }

    @Test func aFileInPlaceIsSharedAsItIs() throws {
        let directory = try TemporaryDirectory()
        try directory.write(file, to: "file")
        let descriptor = open(directory.path("file"), O_RDONLY)
        defer { close(descriptor) }
        let mapped = try #require(MappedFile.data(of: descriptor, byteCount: file.count))
        let memory = try SharedFiles().memory(of: mapped)
        #expect(try bytes(memory) == file)
        var (original, shared) = (stat(), stat())
        #expect(fstat(descriptor, &original) == 0 && fstat(memory.descriptor, &shared) == 0)
        #expect(original.st_ino == shared.st_ino && original.st_dev == shared.st_dev)
    }

    /// As a decoder process does while it reads a long file.
    @Test func whatWasReadIsGivenBackAndReadAgain() throws {
        let memory = try SharedFiles().memory(of: file)
        let reading = try #require(memory.mapped(.reading))
        #expect(Data(reading.bytes) == file)
        #expect(MappedFile.release(reading.bytes))
        #expect(Data(reading.bytes) == file)
        // What this process has written is nowhere else.
        let copying = try #require(memory.mapped(.copying))
        copying.address.storeBytes(of: 1, as: UInt8.self)
        #expect(!MappedFile.release(copying.bytes))
        #expect(copying.bytes[0] == 1)
    }
}
