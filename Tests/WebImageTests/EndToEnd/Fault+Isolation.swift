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
