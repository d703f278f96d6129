public import FoundationEssentials

extension ImageFormat {
    /// The formats that this package supports.
    public static let known: [ImageFormat] = [.jpeg, .png, .gif, .webp]

    /// Detects the format from the signature at the beginning of `data`. File names and content types are ignored.
    ///
    /// 12 bytes are enough for every known format.
    public init?(signatureOf data: Data) {
        let bytes = [UInt8](data.prefix(12))
        switch true {
        case bytes.starts(with: [0xFF, 0xD8, 0xFF]):
            self = .jpeg
        case bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]):
            self = .png
        case bytes.starts(with: Array("GIF87a".utf8)), bytes.starts(with: Array("GIF89a".utf8)):
            self = .gif
        case bytes.starts(with: Array("RIFF".utf8)) && bytes.dropFirst(8).elementsEqual("WEBP".utf8):
            self = .webp
        default:
            return nil
        }
    }

    /// Finds a known format by its name or file extension, in any case, with or without a leading dot: `png`, `.JPG`,
    /// `jpeg`.
    public init?(named name: String) {
        let wanted = (name.hasPrefix(".") ? String(name.dropFirst()) : name).lowercased()
        guard let format = Self.known.first(where: { $0.name == wanted || $0.fileExtension == wanted }) else {
            return nil
        }
        self = format
    }
}
