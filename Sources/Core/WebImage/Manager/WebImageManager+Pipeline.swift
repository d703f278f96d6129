import WebImageCaching
import WebImageCore

extension PipelineConfiguration {
    init(_ configuration: WebImageManager.Configuration) {
        self.init(
            cache: configuration.cache, loaders: configuration.loaders, codecs: configuration.codecs,
            decodingLimits: configuration.decodingLimits, isolation: configuration.isolation,
            isolatedDecoding: configuration.isolatedDecoding, allowsDamage: configuration.allowsDamage,
            minimumProgressInterval: configuration.minimumProgressInterval, bodyStorage: configuration.bodyStorage,
            resumesTransfers: configuration.resumesTransfers, environment: configuration.environment,
            reusesVariants: configuration.reusesVariants,
            servesSeveralUsers: configuration.servesSeveralUsers,
            previewInterval: configuration.previewInterval, log: configuration.log,
            willLoad: configuration.willLoad, willCache: configuration.willCache)
    }
}

extension Pipeline {
    /// - Parameters: as those of ``init(_:undecoded:originals:previewTiming:sharing:)`` with a pipeline's configuration.
    convenience init(
        _ configuration: WebImageManager.Configuration, undecoded: ByteBudget = ByteBudget(),
        originals: (any ImageCaching)? = nil, previewTiming: PreviewTiming? = nil, sharing other: Pipeline? = nil
    ) {
        self.init(
            PipelineConfiguration(configuration), undecoded: undecoded, originals: originals,
            previewTiming: previewTiming, sharing: other)
    }
}
