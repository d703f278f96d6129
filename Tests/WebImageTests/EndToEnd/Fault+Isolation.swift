import FoundationEssentials
import Glibc
import WebImage
import WebImageCoding

@testable import WebImageIsolation

extension Fault {
    /// Whether the programs and formats that it needs are built.
    var isPossible: Bool {
        #if WEBIMAGE_TSAN
            let hasDecoder = false
        #else
            let hasDecoder = true
        #endif
        #if WEBIMAGE_FORMATS
            let hasFormats = true
        #else
            let hasFormats = false
        #endif
        return switch self {
        case .complexImage: hasDecoder && hasFormats
        case .crashedDecoder: hasDecoder
        default: true
        }
    }

    /// Sets where images are decoded.
    func isolate(_ configuration: inout WebImageManager.Configuration) throws {
        switch self {
        case .busyFormat: configuration.codecs = CodecRegistry(decoders: [BusyDecoder()], encoders: [])
        case .complexImage:
            configuration.isolatedDecoding = try decoding(with: "webimage-decoder")
        case .crashedDecoder:
            configuration.isolation = .allFormats
            configuration.isolatedDecoding = try decoding(with: "MisbehavingDecoder")
        case .missingDecoder:
            configuration.isolation = .allFormats
            configuration.isolatedDecoding = try decoding(with: "missing-decoder")
        default: break
        }
    }

    /// - Parameter program: built beside the tests.
    private func decoding(with program: String) throws -> IsolatedDecoding {
        var configuration = IsolatedDecoding.Configuration()
        configuration.path = DecoderLocation.programPath.flatMap { tests in
            tests.lastIndex(of: "/").map { tests[...$0] + program }
        }
        return IsolatedDecoding(configuration: configuration)
    }
}

/// PNG, as if four threads had not come back from its library. That so many are missing is told by the watchdog of the process, which
/// other tests share: `DecodingWatchdogTests/aFormatIsRefusedWhileTooManyThreadsAreMissing` shows it.
private struct BusyDecoder: ImageDecoder {
    let format = ImageFormat.png

    func info(of data: Data) throws(WebImageError) -> ImageInfo { try CodecRegistry().info(of: data) }

    func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        throw .outOfResources(reason: .decodingThreads(format: format, count: 4))
    }
}
