import FoundationEssentials
import WebImageCaching
import WebImageCoding
import WebImageCore
import WebImageIsolation
import WebImageLoading

/// The parts of a manager's configuration that a pipeline needs.
struct PipelineConfiguration: Sendable {
    var cache: any ImageCaching
    var loaders: ImageLoaderGroup
    var codecs: CodecRegistry
    var decodingLimits: DecodingLimits
    var isolation: IsolationPolicy
    var isolatedDecoding: IsolatedDecoding
    var allowsDamage: Bool
    var minimumProgressInterval: Double
    var bodyStorage: BodyStorage
    var resumesTransfers: Bool
    var environment: LoadEnvironment
    var reusesVariants: Bool
    var servesSeveralUsers: Bool
    var previewInterval: Duration
    var log: (@Sendable (_ level: WebImageLogLevel, _ message: () -> String) -> Void)?
    var willLoad: PreparingLoader.Prepare?
    var willCache: (@Sendable (_ image: Image, _ request: WebImageRequest) -> Image?)?
}
