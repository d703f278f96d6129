internal import FoundationEssentials
internal import WebImageCore

/// What a request asks for.
struct Order: Sendable {
    /// What a result depends on: equal keys have equal results.
    struct Key: Hashable, Sendable {
        /// With the same bytes, since `String` also compares text that only looks alike.
        let source: KeyText
        let recipe: Recipe
        /// The formats to choose from, by name; empty where the recipe or the source decides.
        let formats: [String]
        /// Whether the source is described instead of changed.
        let info: ImageDescription?

        /// The name in caches that outlive the process. The number changes when recipes give other results.
        var text: String { "service-1\n\(source.text)\n\(recipe.key)\n\(formats)\n\(info.map { "\($0)" } ?? "image")" }
    }

    let key: Key
    let url: URL
    let delivery: Delivery
    /// The formats of the key.
    let formats: [ImageFormat]
    /// The request fields that the answer depends on.
    let varyingFields: [String]

    var recipe: Recipe { key.recipe }
}
