internal import FoundationEssentials
internal import WebImageCore

/// The requested result and its delivery.
struct Order: Sendable {
    /// The properties that a result depends on, besides the configuration of the service and the source's content.
    struct Key: Hashable, Sendable {
        /// With the same bytes, since `String` also compares text that only looks alike.
        let source: KeyText
        let recipe: Recipe
        /// The formats to choose from, by name; empty where the recipe or the source decides.
        let formats: [String]
        /// Whether the source is described instead of changed.
        let info: ImageDescription?

        /// The name in caches that outlive the process, or that services share. The number changes when recipes give other results.
        ///
        /// - Parameter settings: what the result depends on in the configuration of the service.
        func text(settings: String) -> String {
            let description = info.map { "\($0)" } ?? "image"
            return "service-5\n\(settings)\n\(source.text)\n\(recipe.key)\n\(formats)\n\(description)"
        }
    }

    let key: Key
    let url: URL
    let delivery: Delivery
    /// The formats of the key.
    let formats: [ImageFormat]
    /// The request fields that the answer depends on.
    let varyingFields: [String]

    /// The file to use in place of the source; `nil` loads it.
    var file: Data?

    var recipe: Recipe { key.recipe }

    /// Returns an order for the same of a file, such as that of the fallback.
    ///
    /// - Parameter id: of the bytes.
    func replacingSource(by file: Data, id: String) -> Order {
        // No source that a request names has this scheme.
        let key = Key(source: KeyText("file-of-service:" + id), recipe: recipe, formats: key.formats, info: nil)
        return Order(
            key: key, url: url, delivery: delivery, formats: formats, varyingFields: varyingFields, file: file)
    }
}
