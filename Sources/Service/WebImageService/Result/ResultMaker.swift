internal import FoundationEssentials
internal import WebImage
internal import WebImageCaching
internal import WebImageCoding
internal import WebImageCore
internal import WebImageLoading
internal import WebImageProcessing

/// Makes results: loads a source, and decodes, processes and encodes it on a decoding thread.
struct ResultMaker: Sendable {
    let manager: WebImageManager
    /// Decodes what clients can choose.
    let codecs: CodecRegistry
    var limits: ImageService.Limits
    let quality: Int
    let formatQualities: [ImageFormat: Int]
    /// In seconds.
    let lifetime: Double
    let usesSourceLifetime: Bool
    let watermark: WatermarkImage?
    /// Where `local:` and `s3:` sources come from.
    let folder: String, store: String
    /// Which sources redirects may lead to.
    let sources: SourcePolicy
    let now: @Sendable () -> Date
    /// Of the result that is being made; `nil` if nothing measures.
    var times: StageTimes?

    /// The bytes of a source, and what its server says about them.
    struct Source: Sendable {
        let data: Data
        /// In seconds; `nil` if it is not known.
        var lifetime: Double?
        var isStorable = true
        var judgments: [BodyJudgment] = []
    }

    /// Returns what the bytes and the lifetime of a result depend on in the configuration of the service, for keys of caches that other
    /// services use, too.
    func settings(of key: Order.Key) -> String {
        let qualities = formatQualities.map { "\($0.key.name)=\($0.value)" }.sorted()
        var parts = ["\(quality)", "\(qualities)", "\(lifetime)", "\(usesSourceLifetime)", "\(limits.resultSide)"]
        if key.recipe.qualityBound != nil || key.recipe.output == .best { parts.append("\(limits.encodingCount)") }
        if key.recipe.watermark != nil { parts.append(watermark?.id ?? "none") }
        let scheme = key.source.text.prefix { $0 != ":" }.lowercased()
        if scheme == "local" { parts.append(folder) }
        if scheme == "s3" { parts.append(store) }
        return parts.joined(separator: " ")
    }

    func result(of order: Order, _ times: StageTimes) async -> ResultStore.Outcome {
        var maker = self
        maker.times = times
        return await maker.result(of: order)
    }

    private func result(of order: Order) async -> ResultStore.Outcome {
        if let file = order.file { return await result(of: order, from: Source(data: file)) }
        let start = ContinuousClock.now
        let source: Source
        do throws(WebImageError) {
            source = try await self.source(at: order.url)
            times?.add(.fetch, since: start)
        } catch {
            times?.add(.fetch, since: start)
            return .failure(Refusal(error))
        }
        return await result(of: order, from: source)
    }

    func result(of order: Order, from source: Source) async -> ResultStore.Outcome {
        let arrival = ContinuousClock.now
        let outcome = await DecodingQueue.run(priority: .normal) { cancellation in
            times?.add(.queue, since: arrival)
            return Result { () throws(Refusal) in try stored(order, source, cancellation) }
        }
        guard let outcome else { return .failure(.abandoned) }
        if case .success = outcome { for judgment in source.judgments { judgment.accept() } }
        return outcome
    }

    // MARK: Loading

    private static func isInStore(_ url: URL) -> Bool { url.scheme?.lowercased() == "s3" }

    private func source(at url: URL) async throws(WebImageError) -> Source {
        var request = WebImageRequest(url, cachePolicy: .http)
        request.totalTimeout = limits.transferTime
        if Self.isInStore(url) {
            // Other services that use the cache may have another store.
            request.cacheKeyFilter = { [store] in store + " " + $0.absoluteString }
        }
        let response = try await manager.dataResponse(for: request, acceptsAnyAnswer: false)
        // A cache may have what came from elsewhere.
        guard sources.allowsRedirect(to: response.url) else {
            throw .blocked(reason: .redirect(to: response.url), url: url)
        }
        guard response.data.count <= limits.sourceByteCount else {
            throw .invalidResponse(
                reason: .bodyTooLong(
                    byteCount: Int64(response.data.count), limit: Int64(limits.sourceByteCount)), url: url)
        }
        guard !response.data.isEmpty else { throw .invalidResponse(reason: .emptyBody, url: url) }
        var source = Source(data: response.data, judgments: response.judgments)
        if response.statusCode != nil {
            let control = CacheControl(response.headers)
            source.isStorable = !control.has(.noStore) && !control.has(.isPrivate)
            source.lifetime = Self.lifetime(of: response, control, now: now())
        }
        return source
    }

    /// For how many seconds a source remains fresh in a shared cache; `nil` if its server does not say.
    private static func lifetime(of response: WebDataResponse, _ control: CacheControl, now: Date) -> Double? {
        // With names, it is about these fields only.
        if control.has(.noCache), control.fieldNames(of: .noCache).isEmpty { return 0 }
        let stored = CachedResponse(
            statusCode: response.statusCode ?? 200, headers: response.headers, requestHeaders: [], requestTime: now,
            responseTime: now)
        let freshness = Freshness(of: stored.forSharedCache, now: now)
        switch freshness.source {
        case .maxAge, .expires: return max(0, -freshness.staleness)
        case .heuristic, .redirect, .none: return nil
        }
    }

    // MARK: Making, on a decoding thread

    private func measured<Value>(
        _ stage: ImageService.Stage, _ body: () throws(WebImageError) -> Value
    ) throws(WebImageError) -> Value {
        if let times { try times.measure(stage, body) } else { try body() }
    }

    private func stored(
        _ order: Order, _ source: Source, _ cancellation: Cancellation
    ) throws(Refusal) -> StoredResult {
        let file = try file(order, source, cancellation)
        guard file.data.count <= limits.resultByteCount else {
            throw Refusal(422, "The result is longer than allowed.")
        }
        var lifetime = lifetime
        if usesSourceLifetime, let own = source.lifetime { lifetime = min(lifetime, own) }
        return StoredResult(
            file.data, contentType: file.contentType, fileExtension: file.fileExtension, now: now(),
            lifetime: lifetime, isStorable: source.isStorable)
    }

    struct File {
        let data: Data
        let contentType: String
        let fileExtension: String

        init(_ data: Data, _ format: ImageFormat) {
            (self.data, contentType, fileExtension) = (data, format.mimeType, format.fileExtension)
        }

        init(json: Data) { (data, contentType, fileExtension) = (json, "application/json", "json") }
    }

    /// With the limits of a recipe.
    private func lowered(to own: Recipe.Limits) -> ResultMaker {
        var maker = self
        maker.limits = limits.lowered(to: own)
        return maker
    }

    private func file(_ order: Order, _ source: Source, _ cancellation: Cancellation) throws(Refusal) -> File {
        guard order.recipe.limits == Recipe.Limits() else {
            guard source.data.count <= limits.lowered(to: order.recipe.limits).sourceByteCount else {
                throw Refusal(413, "The source is longer than allowed.")
            }
            return try lowered(to: order.recipe.limits).checkedFile(order, source, cancellation)
        }
        return try checkedFile(order, source, cancellation)
    }

    private func checkedFile(
        _ order: Order, _ source: Source, _ cancellation: Cancellation
    ) throws(Refusal) -> File {
        do throws(WebImageError) {
            let info = try measured(.decode) { () throws(WebImageError) in
                try self.info(of: source.data, cancellation)
            }
            guard let description = order.key.info else {
                if info.frameCount > 1, let limit = order.recipe.limits.framePixelCount, info.size.pixelCount > limit {
                    throw .limitExceeded(reason: .pixels(size: info.size, limit: limit))
                }
                return try file(order.recipe, order.formats, source.data, info, cancellation)
            }
            let json = try measured(.decode) { () throws(WebImageError) in
                try description.json(
                    of: source.data, info, codecs, limits: limits.decoding, cancellation: cancellation)
            }
            return File(json: json)
        } catch {
            switch error {
            case .unrecognizedFormat, .decoding: for judgment in source.judgments { judgment.reject() }
            default: break
            }
            throw Refusal(error)
        }
    }

    /// Makes a file of the bytes of an image.
    ///
    /// - Parameters:
    ///   - formats: those to choose from.
    ///   - info: of the bytes. Also what is sent as it is must be an image, so that the service spreads no other files.
    func file(
        _ recipe: Recipe, _ formats: [ImageFormat], _ data: Data, _ info: ImageInfo, _ cancellation: Cancellation
    ) throws(WebImageError) -> File {
        if recipe.isRaw || recipe.skippedFormats.contains(info.format.name) && isFormatKept(recipe, info.format) {
            return File(data, info.format)
        }
        let (image, geometry) = try processed(recipe, data, info, cancellation)
        let choice = FormatChoice(recipe: recipe, accepted: formats, codecs: codecs)
        let candidates = choice.formats(of: image, from: info.format)
        let mayHaveGainMap = candidates.contains(where: GainMap.formats.contains)
        let encoding = ResultEncoding(
            maker: self, recipe: recipe, image: image,
            gainMap: mayHaveGainMap ? try gainMap(of: data, info, for: image, geometry, cancellation) : nil,
            metadata: try metadata(recipe, data, cancellation), cancellation: cancellation)
        return try measured(.encode) { () throws(WebImageError) in try encoding.file(candidates, info.format) }
    }

    /// Returns the metadata that the result keeps.
    private func metadata(
        _ recipe: Recipe, _ original: Data, _ cancellation: Cancellation
    ) throws(WebImageError) -> ImageMetadata? {
        guard !recipe.stripsMetadata || recipe.keepsCopyright else { return nil }
        let metadata = try codecs.metadata(of: original, limits: limits.decoding, cancellation: cancellation)
        return recipe.stripsMetadata ? metadata.copyright : metadata
    }

    /// Returns the properties in the header of a file, if they are within the limits.
    func info(of data: Data, _ cancellation: Cancellation) throws(WebImageError) -> ImageInfo {
        let info = try codecs.info(of: data, limits: limits.decoding, cancellation: cancellation)
        guard info.size.pixelCount <= limits.decoding.pixelCount else {
            throw .limitExceeded(reason: .pixels(size: info.size, limit: limits.decoding.pixelCount))
        }
        guard info.frameCount <= limits.frameCount else {
            throw .limitExceeded(reason: .frames(limit: limits.frameCount))
        }
        return info
    }

    private func isFormatKept(_ recipe: Recipe, _ format: ImageFormat) -> Bool {
        recipe.output == nil || recipe.output == .format(format)
    }

    private func processed(
        _ recipe: Recipe, _ original: Data, _ info: ImageInfo, _ cancellation: Cancellation
    ) throws(WebImageError) -> (Image, ImageGeometry?) {
        var (data, size) = (original, info.size)
        var shown = recipe.mayKeepGainMap ? ImageGeometry() : nil
        if recipe.usesEmbeddedThumbnail, case .jpeg(let thumbnail) = EmbeddedThumbnail(startOf: original) {
            data = thumbnail
            size = try codecs.info(of: thumbnail, limits: limits.decoding).size
        }
        let orientation = try recipe.isUpright ? .up : orientation(of: data, cancellation)
        let turn = Turn(recipe, orientation: orientation)
        var geometry = RecipeGeometry(recipe, source: turn.applied(to: size), sideLimit: limits.resultSide)
        var options = DecodingOptions(allowsDamage: false, limits: limits.decoding, cancellation: cancellation)
        options.firstFrameOnly = !mayBeAnimated(recipe)
        let frameCount = options.firstFrameOnly ? 1 : info.frameCount
        if recipe.trim == nil {
            try check(geometry, frameCount: frameCount)
            let target = turn.applied(to: geometry.decoded)
            if target != size {
                options.thumbnail = Thumbnail(.pixels(width: target.width, height: target.height), mode: .stretch)
            }
        }
        var image = try measured(.decode) { () throws(WebImageError) in try codecs.decode(data, options: options) }
        if let trim = recipe.trim {
            image = try measured(.process) { () throws(WebImageError) in
                try shown.follow(
                    [
                        .trim(
                            tolerance: trim.tolerance, color: trim.color, symmetry: trim.symmetry, matte: Self.trimMatte
                        )
                    ], of: image, cancellation: cancellation)
            }
            size = image.pixels.size
            geometry = RecipeGeometry(recipe, source: turn.applied(to: size), sideLimit: limits.resultSide)
            try check(geometry, frameCount: frameCount)
        }
        let mark = try recipe.watermark.map { (option) throws(WebImageError) in
            try checkedMark(option, on: geometry, cancellation)
        }
        let steps = try RecipeSteps(
            recipe, geometry, turn: turn, source: turn.applied(to: size),
            decoded: turn.applied(to: image.pixels.size), mark: mark, cancellation: cancellation)
        image = try measured(.process) { () throws(WebImageError) in
            try shown.follow(steps.processors, of: image, cancellation: cancellation)
        }
        return (image, shown)
    }

    private func orientation(of data: Data, _ cancellation: Cancellation) throws(WebImageError) -> ImageOrientation {
        let metadata = try codecs.metadata(of: data, limits: limits.decoding, cancellation: cancellation)
        return metadata.exifFields?.orientation ?? .up
    }

    /// The color that imgproxy puts behind transparent borders: they are trimmed as `ff00ff`.
    private static let trimMatte = Color(red: 1, green: 0, blue: 1)

    /// Whether a result can have several frames.
    private func mayBeAnimated(_ recipe: Recipe) -> Bool {
        guard case .format(let format) = recipe.output else { return true }
        return codecs.canEncodeAnimation(as: format)
    }

    /// Returns the service's watermark, if it is within the limits at its size on the result.
    private func checkedMark(
        _ option: Recipe.Watermark, on geometry: RecipeGeometry, _ cancellation: Cancellation
    ) throws(WebImageError) -> RecipeSteps.Mark {
        guard let mark = try watermark?.mark(codecs, limits.decoding, cancellation) else {
            throw .processing(identifier: "watermark", reason: .failed("the service has no watermark"))
        }
        let (natural, size) = (mark.image.pixels.size, option.size(of: mark.image.pixels.size, on: geometry))
        guard size == natural || size.pixelCount <= limits.resultPixelCount else {
            throw .processing(
                identifier: "watermark", reason: .resultTooLarge(size, pixelLimit: limits.resultPixelCount))
        }
        return mark
    }

    private func check(_ geometry: RecipeGeometry, frameCount: Int) throws(WebImageError) {
        // All frames together are bounded like those of a source.
        let frameLimit = frameCount > 1 ? limits.decoding.animationByteCount / 4 / frameCount : .max
        let pixelLimit = min(limits.resultPixelCount, frameLimit)
        for size in [geometry.scaled, geometry.padded] {
            let longest = max(size.width, size.height)
            guard longest <= OptionReader.longestSide, size.pixelCount <= pixelLimit else {
                throw .processing(
                    identifier: "size",
                    reason: .resultTooLarge(size, pixelLimit: pixelLimit, sideLimit: OptionReader.longestSide))
            }
        }
    }
}
