internal import FoundationEssentials
internal import Glibc
internal import SystemText
internal import WebImageCore
internal import WebImageShared

/// Where accepted uploads are stored: in the folder of `local:` sources, or in the store of `s3:` sources.
///
/// A file has the name of its digest, so that the same bytes are stored once, a source never changes, and no text of a client is in a name.
struct UploadStore: Sendable {
    /// What the sources of files begin with; ends with a slash.
    let sourcePrefix: String
    private let place: Place

    private enum Place: Sendable {
        /// The path ends with a slash.
        case folder(String)
        /// The prefix of keys ends with a slash, if there is one.
        case bucket(S3Client, prefix: String)
    }

    /// Returns `nil` for a place that is invalid, or in a folder or a store that the service does not have.
    init?(_ destination: String, _ configuration: ImageService.Configuration) {
        guard let colon = destination.firstRange(of: "://") else { return nil }
        let path = destination[colon.upperBound...].split(separator: "/", omittingEmptySubsequences: false)
        // Slashes at the end, and the empty host of local:///.
        let parts = path.filter { !$0.isEmpty }
        guard parts.allSatisfy({ $0 != "." && $0 != ".." && $0.utf8.allSatisfy(Self.isPlain) }) else { return nil }
        switch destination[..<colon.lowerBound] {
        case "local":
            guard let folder = configuration.folder, path.first == "" else { return nil }
            sourcePrefix = "local:///" + parts.map { $0 + "/" }.joined()
            let base = folder.path(percentEncoded: false)
            place = .folder((base.hasSuffix("/") ? base : base + "/") + parts.map { $0 + "/" }.joined())
        case "s3":
            guard let store = configuration.store, let bucket = parts.first, path.first?.isEmpty == false,
                let client = S3SourceLoader.client(
                    for: String(bucket), in: store, credential: configuration.storeCredential)
            else { return nil }
            sourcePrefix = "s3://" + parts.map { $0 + "/" }.joined()
            place = .bucket(client, prefix: parts.dropFirst().map { $0 + "/" }.joined())
        default: return nil
        }
    }

    /// Whether no part of a URL or a signature encodes the character.
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }

    /// The name of bytes, with a folder for each of 256 beginnings.
    static func name(of data: Data, _ fileExtension: String) -> String {
        let digest = SHA256.hexDigest(of: [UInt8](data))
        return "\(digest.prefix(2))/\(digest).\(fileExtension)"
    }

    /// Stores a file, and returns its source once it is stored for good.
    func store(_ data: Data, _ fileExtension: String) async throws(Refusal) -> String {
        let name = Self.name(of: data, fileExtension)
        switch place {
        case .folder(let folder):
            let failure: Int32? = await withCheckedContinuation { continuation in
                Self.queue.submit { continuation.resume(returning: Self.write(data, to: folder + name)) }
            }
            if let failure { throw Self.refusal(isFull: [ENOSPC, EDQUOT].contains(failure), "errno \(failure)") }
        case .bucket(let client, let prefix):
            let response: S3Client.Response
            do throws(S3Client.Failure) {
                response = try await client.send(.put, prefix + name, body: data)
            } catch {
                throw Self.refusal(isFull: false, error.description)
            }
            guard (200..<300).contains(response.statusCode) else {
                throw Self.refusal(isFull: response.statusCode == 507, "status \(response.statusCode)")
            }
        }
        return sourcePrefix + name
    }

    private static func refusal(isFull: Bool, _ detail: String) -> Refusal {
        var refusal =
            isFull ? Refusal(507, "There is no space for the upload.") : Refusal(500, "The upload cannot be stored.")
        refusal.detail = "the upload cannot be stored: " + detail
        return refusal
    }

    // MARK: Files

    private static let queue = WorkQueue(label: "webimage-upload", threadCount: 1)

    /// Writes a file in place of none or of another one. Returns the error number; `nil` once it is on the disk.
    private static func write(_ data: Data, to path: String) -> Int32? {
        let folder = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        } catch {
            return EIO
        }
        let temporary = path + ".\(getpid()).\(UInt32.random(in: 0...UInt32.max))"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o644)
        guard descriptor >= 0 else { return errno }
        var failure: Int32?
        data.withUnsafeBytes { bytes in
            do throws(RegularFile.Failure) {
                try RegularFile.writeAll(bytes) { rest, _ in Glibc.write(descriptor, rest.baseAddress, rest.count) }
            } catch {
                failure = error.errno
            }
        }
        if failure == nil, fsync(descriptor) != 0 { failure = errno }
        if close(descriptor) != 0, failure == nil { failure = errno }
        if failure == nil, rename(temporary, path) != 0 { failure = errno }
        guard failure == nil else {
            unlink(temporary)
            return failure
        }
        synchronize(folder)
        return nil
    }

    /// Has the name of a new file stored, too.
    private static func synchronize(_ folder: String) {
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }
}
