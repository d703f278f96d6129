internal import CWebImageIsolation
package import WebImageCore

/// The library that a decoder process has loaded: that of one format, or none. A process loads what its images need, and an image reaches no
/// code of another format's library.
package struct DecoderKind: Sendable, Hashable {
    /// The format of the library; `nil` without one.
    package let library: ImageFormat?

    /// Decodes the formats that need no library besides those that the program links.
    static let core = DecoderKind(library: nil)

    private init(library: ImageFormat?) { self.library = library }

    init(for format: ImageFormat) {
        // Icons may contain JPEG 2000.
        let library = format == .icns ? .jpeg2000 : format
        self.library = ImageFormat.ofLibraries.contains(library) ? library : nil
    }

    /// The kind of the calling process, which is a decoder.
    package static var ofThisProcess: DecoderKind {
        let name = String(cString: cwi_decoder_library())
        return DecoderKind(library: ImageFormat.ofLibraries.first { $0.name == name })
    }
}

extension [DecoderKind] {
    /// Removes one of this kind, if there is one.
    mutating func removeFirst(_ kind: DecoderKind) {
        if let index = firstIndex(of: kind) { remove(at: index) }
    }
}
