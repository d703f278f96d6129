import FoundationEssentials
import Glibc
import Testing
import WebImageTestSupport

@testable import WebImageLoading

/// The possible contents of the disk, and how they are read.
@Suite(.timeLimit(.minutes(3))) struct PartialFileTests {
    private let directory: TemporaryDirectory
    private let store: PartialBodyStore
    private static let key = PartialBodyKey(text: "a")

    init() throws {
        directory = try TemporaryDirectory()
        store = PartialBodyStore(configuration: .init(directory: directory.url("partial")))
    }

    private var path: String { directory.path("partial/\(Self.key.digest).partial") }

    private static func head(key: PartialBodyKey = key) throws -> PartialHead {
        let response = LoaderResponse(
            url: try ResumeFixture.url(), statusCode: 200, headers: [HTTPHeader(name: "ETag", value: "\"a\"")])
        return try #require(PartialHead(response, key: key.digest))
    }

    /// Writes a file with these pieces, each a record of its own, and lets go of it.
    private func write(_ pieces: [Data], key: PartialBodyKey = key) throws {
        let file = try #require(store.makeFile(Self.key, try Self.head(key: key)))
        for piece in pieces { #expect(file.append(piece)) }
    }

    private func body() -> Data? { store.open(Self.key)?.beginning.bytes }

    private func change(_ change: (inout Data) -> Void) throws {
        var data = try Data(contentsOf: URL(filePath: path))
        change(&data)
        try data.write(to: URL(filePath: path))
    }

    @Test func writtenBytesAreReadBack() throws {
        let pieces = [FaultServer.pattern(70_000), FaultServer.pattern(1), FaultServer.pattern(600_000)]
        try write(pieces)
        #expect(body() == pieces.reduce(Data(), +))
        let beginning = try #require(store.open(Self.key)?.beginning)
        #expect(beginning.head == (try Self.head()) && beginning.isExtensible)
    }

    @Test func onlyItsUserMayReadIt() throws {
        try write([Data([1])])
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(stat(directory.path("partial"), &status) == 0 && status.st_mode & 0o777 == 0o700)
    }

    @Test func anIncompleteRecordIsIgnoredAndOverwritten() throws {
        let first = FaultServer.pattern(1000)
        for cut in [1, 7, 500, 507] {
            try write([first, FaultServer.pattern(500)])
            try change { $0.removeLast(cut) }
            #expect(body() == first)
            let file = try #require(store.open(Self.key)?.file)
            #expect(file.append(Data([9])))
            file.unlock()
            #expect(body() == first + [9])
        }
    }

    @Test func bytesAfterADamagedRecordAreIgnored() throws {
        try write([FaultServer.pattern(1000), FaultServer.pattern(500), FaultServer.pattern(200)])
        try change { $0[$0.count - 200 - 8 - 100] ^= 1 }
        #expect(body() == FaultServer.pattern(1000))
    }

    @Test func aRecordOfAnOlderBodyIsIgnored() throws {
        try write([FaultServer.pattern(1000), FaultServer.pattern(500)])
        let old = try Data(contentsOf: URL(filePath: path))
        let response = LoaderResponse(
            url: try ResumeFixture.url(), statusCode: 200, headers: [HTTPHeader(name: "ETag", value: "\"b\"")])
        let head = try #require(PartialHead(response, key: Self.key.digest))
        let file = try #require(store.makeFile(Self.key, head))
        #expect(file.append(FaultServer.pattern(1000)))
        file.unlock()
        // As a power cut may leave it: the new length reached the disk, the new bytes behind the first did not.
        try change { $0 += old.suffix(508) }
        #expect(body() == FaultServer.pattern(1000))
    }

    @Test func aDamagedHeadDeletesTheFile() throws {
        for place in [0, 7, 8, 12, 20, 60] {
            try write([Data([1])])
            try change { $0[place] ^= 0x10 }
            #expect(body() == nil)
            #expect(access(path, F_OK) != 0)
        }
        for content in [Data(), Data("WebImgP1".utf8), Data(repeating: 0xFF, count: 100)] {
            try write([Data([1])])
            try change { $0 = content }
            #expect(body() == nil)
        }
    }

    @Test func damagedFilesNeverReturnWrongBytes() throws {
        let whole = FaultServer.pattern(3000)
        var random = SplitMix64(seed: 1)
        for _ in 0..<300 {
            try write([whole.prefix(1000), whole[1000..<1001], whole[1001...]])
            try change { data in
                for _ in 0..<Int.random(in: 1...3, using: &random) {
                    let place = Int.random(in: 0..<data.count, using: &random)
                    switch Int.random(in: 0..<3, using: &random) {
                    case 0: data[place] = UInt8.random(in: 0...255, using: &random)
                    case 1: data = data.prefix(max(1, place))
                    default: data.insert(UInt8.random(in: 0...255, using: &random), at: place)
                    }
                }
            }
            let body = body() ?? Data()
            #expect(whole.starts(with: body))
        }
    }

    @Test func aFileOfAnotherRequestIsNotUsed() throws {
        try write([Data([1])], key: PartialBodyKey(text: "b"))
        #expect(body() == nil)
    }

    // MARK: Others

    @Test func aLockedFileIsNeitherReadNorWritten() throws {
        try write([Data([1])])
        let held = try #require(store.open(Self.key))
        #expect(store.open(Self.key) == nil)
        #expect(store.makeFile(Self.key, try Self.head()) == nil)
        store.removeAll()
        #expect(access(path, F_OK) == 0)
        held.file.unlock()
        #expect(body() == Data([1]))
    }

    @Test func aDeletedButOpenFileIsNotWrittenByTheNextLoad() throws {
        try write([Data([1])])
        let held = try #require(store.open(Self.key))
        held.file.remove(from: store.directory)
        try write([Data([2])])
        // The first must not delete what is not its own.
        held.file.remove(from: store.directory)
        held.file.unlock()
        #expect(body() == Data([2]))
    }

    @Test func linksPipesAndDirectoriesAreNotTouched() throws {
        mkdir(directory.path("partial"), 0o700)
        let target = directory.path("target")
        try Data([7]).write(to: URL(filePath: target))
        for make in [
            { symlink(target, path) }, { link(target, path) }, { mkfifo(path, 0o600) }, { mkdir(path, 0o700) },
        ] {
            #expect(make() == 0)
            #expect(store.open(Self.key) == nil)
            #expect(store.makeFile(Self.key, try Self.head()) == nil)
            store.removeAll()
            #expect(remove(path) == 0)
        }
        #expect(try Data(contentsOf: URL(filePath: target)) == Data([7]))
    }

    @Test func aLinkedOrForeignDirectoryIsNotUsed() throws {
        mkdir(directory.path("elsewhere"), 0o700)
        symlink(directory.path("elsewhere"), directory.path("partial"))
        #expect(store.makeFile(Self.key, try Self.head()) == nil)
        unlink(directory.path("partial"))
        mkdir(directory.path("partial"), 0o777)
        chmod(directory.path("partial"), 0o777)
        try write([Data([1])])
        var status = stat()
        #expect(stat(directory.path("partial"), &status) == 0 && status.st_mode & 0o077 == 0)
    }

    @Test(.enabled(if: geteuid() == 0, "gives a directory to another user"))
    func aDirectoryOfAnotherUserIsNotUsed() throws {
        try write([Data([1])])
        try #require(chown(directory.path("partial"), 12_345, 12_345) == 0)
        #expect(store.makeFile(Self.key, try Self.head()) == nil)
        #expect(store.open(Self.key) == nil)
        store.removeAll()
        #expect(access(path, F_OK) == 0)
    }

    @Test func otherFilesAreNotDeleted() throws {
        try write([Data([1])])
        let names = ["notes.txt", "short.partial", String(repeating: "g", count: 64) + ".partial"]
        for name in names { try Data([1]).write(to: directory.url("partial/\(name)")) }
        store.removeAll()
        #expect(access(path, F_OK) != 0)
        for name in names { #expect(access(directory.path("partial/\(name)"), F_OK) == 0) }
    }
}
