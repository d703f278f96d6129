import FoundationEssentials
import Glibc
import ProgramSupport
import WebImageGTK

/// The file `photo.jpg.xmp` beside `photo.jpg`, which has stars and tags. The image file itself never changes.
///
/// darktable and digiKam have this name, too. Each function blocks the thread.
struct Sidecar: Sendable {
    /// Why a sidecar is not read or changed, for users.
    struct Failure: Error, Equatable, CustomStringConvertible {
        let description: String
    }

    let photo: URL

    init(of photo: URL) { self.photo = photo }

    static let suffix = ".xmp"
    /// Longer files are refused: their texts would fill the memory.
    static let byteLimit = 4 << 20

    var file: URL { URL(file: photo.filePath + Self.suffix) }

    var exists: Bool { file.filePath.withCString { access($0, F_OK) } == 0 }

    /// The photograph of a sidecar; `nil` for other names.
    static func photo(of path: SystemString) -> URL? {
        path.hasSuffix(suffix) ? URL(file: SystemString(path.bytes.dropLast(suffix.utf8.count))) : nil
    }

    /// Returns the marks of the sidecar; `nil` without one.
    func marks() throws(Failure) -> PhotoMarks? { try packet()?.marks }

    /// The text; `nil` without a file.
    private func packet() throws(Failure) -> XMPPacket? {
        guard let length = LocalFile.byteCount(file) else { return nil }
        guard length <= Self.byteLimit else { throw failure(localized("It is too long.")) }
        let data: Data
        do throws(WebImageError) { data = try LocalFile.content(file.filePath) } catch {
            throw Failure(description: error.userDescription)
        }
        do throws(XMPPacket.Failure) { return try XMPPacket([UInt8](data)) } catch {
            throw failure(error.description)
        }
    }

    private func failure(_ reason: String) -> Failure { Failure(description: "\(file.displayName): \(reason)") }

    /// Changes the text in one step: other programs see the former or the new one as a whole. Makes the file if there is none.
    func change(_ body: (inout XMPPacket) throws(XMPPacket.Failure) -> Void) throws(Failure) {
        let former = try packet()
        var packet: XMPPacket
        do throws(XMPPacket.Failure) {
            if let former { packet = former } else { packet = try XMPPacket.empty }
            try body(&packet)
        } catch {
            throw failure(error.description)
        }
        let content = Data(packet.bytes)
        guard former != nil else { return try create(content) }
        do throws(FileReplacement.Failure) { try FileReplacement(of: file).write(content) } catch {
            throw failure(error.description)
        }
    }

    private func create(_ content: Data) throws(Failure) {
        let draft = URL(file: photo.folder + ".gallery-\(UInt32.random(in: .min ... .max))")
        let descriptor = draft.filePath.withCString { open($0, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666) }
        guard descriptor >= 0 else { throw failure(String(cString: strerror(errno))) }
        var number: Int32 = 0
        do throws(SystemError) { try FileBytes.write(content, to: descriptor) } catch { number = error.number }
        if number == 0, fsync(descriptor) != 0 { number = errno }
        if close(descriptor) != 0, number == 0 { number = errno }
        // One that another program has made meanwhile stays.
        if number == 0 { number = FileMove()(draft.filePath, to: file.filePath) ?? 0 }
        guard number == 0 else {
            _ = draft.filePath.withCString { unlink($0) }
            throw failure(String(cString: strerror(number)))
        }
    }

    /// Takes the sidecar along with a photograph that has another place. Returns the error number; `nil` on success or without a sidecar.
    func move(to newPhoto: URL) -> Int32? {
        exists ? FileMove()(file.filePath, to: Sidecar(of: newPhoto).file.filePath) : nil
    }
}
