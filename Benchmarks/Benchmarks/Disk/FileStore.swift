import FoundationEssentials
import Glibc

/// The least that a cache of files can do. Names are hashes of the keys, as keys are no names.
struct FileStore: DiskStore {
    let directory: String

    init(directory: String) {
        self.directory = directory
        mkdir(directory, 0o700)
    }

    func session() -> any DiskSession { FileSession(directory: directory) }
}

private final class FileSession: DiskSession {
    private let directory: String

    init(directory: String) { self.directory = directory }

    private func path(_ key: String) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in key.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return directory + "/" + String(hash, radix: 16)
    }

    func set(_ places: Range<Int>, of entries: DiskEntries, generation: Int) throws {
        for place in places {
            let target = path(entries.keys[place])
            let temporary = target + ".new"
            let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            let value = entries.value(place, generation: generation)
            let written = value.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
            close(file)
            guard written == value.count, rename(temporary, target) == 0 else {
                throw WrongResult(description: "a file was not written: errno \(errno)")
            }
        }
    }

    func remove(_ places: Range<Int>, of entries: DiskEntries) {
        for place in places { unlink(path(entries.keys[place])) }
    }

    /// The length is known, so that nothing but open, read and close is measured.
    func get<Result>(_ key: String, byteCount: Int, _ body: (UnsafeRawBufferPointer) -> Result) throws -> Result? {
        let file = open(path(key), O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 16)
        defer { bytes.deallocate() }
        guard read(file, bytes.baseAddress, byteCount) == byteCount else { return nil }
        return body(UnsafeRawBufferPointer(bytes))
    }
}
