import WebImageCaching
import WebImageCoding
import WebImageCore
import WebImageLoading

/// The pipelines of a manager: the standard one, and one for each combination of components (cache, loaders, codecs)
/// that requests set.
///
/// Requests with the same components share their work. The table references these pipelines weakly, so each lives only
/// while it is at work.
final class PipelineTable: Sendable {
    let standard: Pipeline
    private let configuration: WebImageManager.Configuration
    private let others = Lock<[Key: Reference]>([:])

    private struct Key: Hashable {
        let cache: ObjectIdentifier
        let originals: ObjectIdentifier
        let loaders: ObjectIdentifier
        let codecs: ObjectIdentifier
    }

    /// A pipeline retains its components, so no other object can have their addresses while it lives.
    private struct Reference { weak var pipeline: Pipeline? }

    init(_ configuration: WebImageManager.Configuration) {
        self.configuration = configuration
        standard = Pipeline(configuration)
    }

    /// The standard pipeline, and the others that are at work.
    var atWork: [Pipeline] { [standard] + others.withLock { $0.values.compactMap(\.pipeline) } }

    func pipeline(for request: WebImageRequest) -> Pipeline {
        guard !request.hasStandardDetails else { return standard }
        let details = request.details
        guard details.cache != nil || details.originalCache != nil || details.loaders != nil || details.codecs != nil
        else { return standard }
        var configuration = configuration
        configuration.cache = details.cache ?? configuration.cache
        configuration.loaders = details.loaders ?? configuration.loaders
        configuration.codecs = details.codecs ?? configuration.codecs
        let originals = details.originalCache ?? configuration.cache
        let key = Key(
            cache: ObjectIdentifier(configuration.cache as AnyObject),
            originals: ObjectIdentifier(originals as AnyObject),
            loaders: ObjectIdentifier(configuration.loaders), codecs: ObjectIdentifier(configuration.codecs))
        return others.withLock { [configuration, standard] others in
            if let pipeline = others[key]?.pipeline { return pipeline }
            let pipeline = Pipeline(
                configuration, undecoded: standard.undecoded, originals: originals, sharing: standard)
            others = others.filter { $0.value.pipeline != nil }
            others[key] = Reference(pipeline: pipeline)
            return pipeline
        }
    }
}
