internal import FoundationEssentials
internal import WebImageCore

/// Reads what requests ask for.
struct OrderReader: Sendable {
    let prefix: String
    let signatures: SignatureCheck
    let sources: SourcePolicy
    let baseURL: String
    /// Whether the last part of a base64 source is a file name, which means nothing.
    let hasFileNames: Bool
    let offeredFormats: [ImageFormat]
    let usesClientHints: Bool
    /// With the default preset.
    let options: OptionReader

    func order(for request: ServiceRequest, now: Date) throws(Refusal) -> Order {
        guard request.method == "GET" || request.method == "HEAD" else {
            throw Refusal(405, "Only GET and HEAD are supported.")
        }
        let path = try ServicePath(request.target, prefix: prefix)
        try signatures.check(path.signature, of: path.signed)
        if path.isInfo { return try description(path, now) }

        var reader = options
        let count = try reader.readOptions(path.parts)
        let source = try SourceText(path.parts.dropFirst(count), baseURL: baseURL, hasFileName: hasFileNames)
        if !source.extension.isEmpty { try reader.setOutput(named: source.extension) }
        try check(reader.delivery, now)

        let client = ClientPreferences(request: request)
        var (recipe, varying) = (reader.recipe, [String]())
        let choosesFormat = (recipe.output == nil || recipe.output == .best) && !recipe.isRaw
        if choosesFormat, !offeredFormats.isEmpty { varying.append("Accept") }
        if usesClientHints, !recipe.isRaw { apply(client, to: &recipe, &varying) }
        let formats = choosesFormat ? client.formats(of: offeredFormats) : []
        return Order(
            key: Order.Key(
                source: KeyText(source.url), recipe: recipe, formats: formats.map(\.name), info: nil),
            url: try sources.url(of: source.url), delivery: reader.delivery, formats: formats, varyingFields: varying)
    }

    private func check(_ delivery: Delivery, _ now: Date) throws(Refusal) {
        if let expires = delivery.expires, Double(expires) <= now.timeIntervalSince1970 { throw .expired }
    }

    /// The client's width and density count where the URL names none.
    private func apply(_ client: ClientPreferences, to recipe: inout Recipe, _ varying: inout [String]) {
        if recipe.density == nil {
            varying += ["Sec-CH-DPR", "DPR"]
            recipe.density = client.density
        }
        guard recipe.width == 0, recipe.height == 0 else { return }
        varying += ["Sec-CH-Width", "Width"]
        guard let width = client.width else { return }
        // The width is in physical pixels, the recipe's is multiplied by the density.
        recipe.width = max(1, Int((Double(width) / (recipe.density ?? 1)).rounded()))
    }

    private func description(_ path: ServicePath, _ now: Date) throws(Refusal) -> Order {
        var (description, count, delivery) = (ImageDescription(), 0, Delivery())
        while count < path.parts.count, path.parts[count] != "plain", path.parts[count].contains(options.separator) {
            // There are no presets for descriptions.
            guard !options.presets.isOnlySource else { throw .invalid("Only presets are allowed, not options.") }
            try description.read(path.parts[count], separator: options.separator, &delivery)
            count += 1
        }
        let source = try SourceText(path.parts.dropFirst(count), baseURL: baseURL, hasFileName: hasFileNames)
        guard source.extension.isEmpty else { throw .invalid("A description has no format.") }
        try check(delivery, now)
        return Order(
            key: Order.Key(source: KeyText(source.url), recipe: Recipe(), formats: [], info: description),
            url: try sources.url(of: source.url), delivery: delivery, formats: [], varyingFields: [])
    }
}
