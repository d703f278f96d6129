import FoundationEssentials
import WebImageGTK

/// What a search knows of a photograph.
struct PhotoFacts: Sendable, Equatable {
    /// When it was taken, or else modified, as `YYYY:MM:DD HH:MM:SS` in local time.
    var date: String?
    /// In pixels.
    var size: PixelSize?
    var byteCount = 0
    /// Whether the file says where it was taken, in numbers or as a name.
    var hasPlace = false
    /// With those of the file where the sidecar has none.
    var marks = PhotoMarks()
    /// Whether the marks are in a sidecar, also in part.
    var hasSidecar = false
    /// The name of the file.
    var name = SearchText("")
    /// Tags, the place and the camera.
    var notes = SearchText("")

    /// The part of a file in which XMP and the size are looked for.
    static let byteLimit = 256 << 10

    init() {}

    /// Reads the header of a file, and its sidecar. Blocks the thread.
    init(of file: URL, _ cancellation: Cancellation? = nil, codecs: CodecRegistry = .shared) {
        name = SearchText(file.displayName)
        guard file.isFileURL else { return }
        byteCount = LocalFile.byteCount(file) ?? 0
        var metadata = (try? codecs.metadata(ofFileAt: file, cancellation: cancellation)) ?? ImageMetadata()
        if let prefix = LocalFile.prefix(file, byteCount: Self.byteLimit) {
            size = (try? codecs.probe(prefix))?.size
            if metadata.xmp == nil {
                metadata.xmp = (try? codecs.metadata(of: prefix, cancellation: cancellation))?.xmp
            }
        }
        let exif = metadata.exifFields
        date = exif?.date?.description ?? LocalFile.modified(file).flatMap(PhotoOrder.localTime)
        marks = metadata.xmp.flatMap { try? XMPPacket([UInt8]($0)) }?.marks ?? PhotoMarks()
        // A sidecar that cannot be read is as none here: what changes it says why.
        if let own = (try? Sidecar(of: file).marks()).flatMap({ $0 }) {
            (marks, hasSidecar) = (own.completed(by: marks), true)
        }
        hasPlace = exif?.coordinates != nil || marks.placeName != nil
        let notes = (marks.tags ?? []) + [marks.placeName, exif?.camera].compactMap(\.self)
        self.notes = SearchText(notes.joined(separator: "\n"))
    }

    /// 0 to 5.
    var stars: Int { max(0, marks.stars ?? 0) }

    /// `★★★☆☆`; empty without a star.
    var starText: String {
        stars == 0 ? "" : String(repeating: "★", count: stars) + String(repeating: "☆", count: 5 - stars)
    }
}
