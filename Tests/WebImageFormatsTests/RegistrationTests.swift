import Foundation
import Testing
import WebImageCore

@testable import WebImageCoding
@testable import WebImageFormats

@Suite(.timeLimit(.minutes(3))) struct RegistrationTests {
    private let files: FormatFiles

    init() throws { files = try FormatFiles() }

    @Test func theAcceptHeaderNamesTheBestFormatsFirst() {
        let plain = CodecRegistry().acceptHeaders["Accept"] ?? ""
        #expect(plain.hasPrefix("image/webp,image/jpeg,image/png,image/gif"))
        let accept = FormatFiles.registry.acceptHeaders["Accept"] ?? ""
        let types = LibraryFormat.allCases.filter(\.isBuilt).map(\.format.mimeType)
        for type in types { #expect(accept.contains(type)) }
        if LibraryFormat.avif.isBuilt { #expect(accept.hasPrefix("image/avif,")) }
        #expect(accept.hasSuffix("image/*;q=0.8,*/*;q=0.5"))
    }

    @Test(arguments: FormatFiles.made) func withoutADecoderTheErrorNamesTheRegistryThatHasIt(format: LibraryFormat)
        throws
    {
        try files.make(format, "image", from: files.png("source.png", size: PixelSize(width: 20, height: 20)))
        let error = #expect(throws: WebImageError.self) { try CodecRegistry().decode(files.data("image")) }
        #expect(error == .decoding(format: format.format, reason: .noDecoder))
        #expect(error?.description.contains("CodecRegistry.shared") == true)
    }

    @Test func brandsTellTheFormat() {
        func file(_ major: String, _ others: String...) -> Data {
            let text = "ftyp" + major + "\0\0\0\0" + others.joined()
            return Data([0, 0, 0, UInt8(text.utf8.count + 4)]) + Data(text.utf8)
        }
        #expect(ImageFormat(signatureOf: file("avif")) == .avif)
        #expect(ImageFormat(signatureOf: file("mif1", "miaf", "avif")) == .avif)
        #expect(ImageFormat(signatureOf: file("mif1", "heic")) == .heic)
        #expect(ImageFormat(signatureOf: file("heic", "mif1")) == .heic)
        #expect(ImageFormat(signatureOf: file("mif1")) == .heic)
        #expect(ImageFormat(signatureOf: file("isom", "mp42")) == nil)
    }
}
