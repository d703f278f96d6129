import FoundationEssentials
import WebImageCoding
import WebImageCore
import WebImageProcessing

/// Makes previews of one body while it arrives, on the decoding threads.
///
/// ```
///  show(body) ─► busy, or not due yet? ── yes ──► store only the latest body until it is time
///                      │ no                                        │
///                      └─► decode what is new ◄────────────────────┘
///                                └─► blur ─► report(provisional:)
/// ```
/// One preview is made at a time, so that a slow decoder skips previews instead of queueing work. The bytes of a
/// skipped preview are in the next one.
final class ArrivingPreviews: Sendable {
    private let load: ImageLoad
    private let style: PreviewStyle
    /// Stops the decoder once the job has ended or was cancelled.
    private let abandonment: Cancellation
    private let state: Lock<State>

    private struct State {
        var expected: Int64?
        var newest: PartialBody?
        var decoder: PreviewDecoder
        /// The number of bytes in the last attempt.
        var shownByteCount = 0
        var pace = PreviewPace()
        /// Whether there will be no more previews of this file.
        var isOver = false

        /// Discards the body of a failed attempt.
        mutating func startAnew(_ decoder: PreviewDecoder) {
            (newest, shownByteCount, isOver) = (nil, 0, false)
            self.decoder = decoder
        }

        /// Whether the image itself is due before a preview would be.
        var isNearlyThere: Bool {
            guard let expected, let newest else { return false }
            return Double(newest.byteCount) >= 0.99 * Double(expected)
        }
    }

    init(for load: ImageLoad, _ style: PreviewStyle) {
        self.load = load
        self.style = style
        state = Lock(State(decoder: PreviewDecoder(style: style)))
        abandonment = Cancellation { [job = load.job] flag in
            if !job.isLive { flag.cancel() }
        }
    }

    private var pipeline: Pipeline { load.pipeline }

    func note(_ progress: LoadProgress) { state.withLock { $0.expected = progress.expected } }

    /// Takes the part of the body that has arrived.
    func show(_ body: PartialBody) {
        let isNews = state.withLock { state in
            // Another attempt brings another body. The previous one is void.
            if let newest = state.newest, newest.collector !== body.collector {
                state.startAnew(PreviewDecoder(style: style))
            }
            // A late subscriber may receive a body after a longer one.
            guard body.byteCount > state.newest?.byteCount ?? 0 else { return false }
            state.newest = body
            return true
        }
        if isNews { update() }
    }

    /// Starts the next preview, if one is due and more has arrived.
    private func update() {
        let now = pipeline.previewTiming.now()
        let delay = state.withLock { state -> Duration? in
            guard !state.isOver, !state.isNearlyThere, state.newest?.byteCount ?? 0 > state.shownByteCount
            else { return nil }
            return state.pace.next(at: now)
        }
        guard let delay else { return }
        guard delay == .zero else {
            // The transfer may stall, with rows that are not shown yet.
            return pipeline.previewTiming.call(delay) { [weak self] in
                self?.state.withLock { $0.pace.endWait() }
                self?.update()
            }
        }
        load.preview.cover { [weak self] in self?.begin() }
    }

    private func begin() {
        load.job.runBeside { priority in
            pipeline.decodingQueue.run(priority: priority) { [self] cancellation in makePreview(cancellation) }
        }
    }

    private func makePreview(_ cancellation: Cancellation) {
        let begun = pipeline.previewTiming.now()
        let (body, expected, decoder) = state.withLock { ($0.newest, $0.expected, $0.decoder) }
        guard let body else { return }
        let options = load.context.decodingOptions(pipeline, allowsDamage: true, cancellation: abandonment)
        let result = Result { [abandonment] () throws(WebImageError) in
            // A decoder that waits for another process does not poll.
            try cancellation.withHandler({ abandonment.cancel() }) { () throws(WebImageError) in
                try decoder.preview(
                    of: body, expected: expected, codecs: pipeline.codecs, options: options, cancellation: cancellation)
            }
        }
        if let image = (try? result.get())?.image, !cancellation.isCancelled {
            pipeline.counters.change { $0.previews += 1 }
            var response = load.response(image, .remote)
            response.previewKind = .arriving
            load.job.report(provisional: response)
        }
        let ended = pipeline.previewTiming.now()
        state.withLock { state in
            // An attempt without a preview takes time, too. Bytes that are not in their file yet are looked for after
            // an interval, because nothing else may arrive. So are those of the image after the thumbnail.
            var isShort = false
            switch result {
            case .success(.unwritten), .success(.thumbnail): isShort = true
            default: break
            }
            let due =
                switch result {
                case .success(.preview), .success(.thumbnail), .success(.unwritten):
                    pipeline.previewTiming.next(begun: begun, ended: ended, isBlurred: decoder.isBlurring)
                default: PreviewTiming.earliest(begun: begun, ended: ended)
                }
            state.pace.end(due: state.decoder === decoder ? due : nil)
            guard state.decoder === decoder else { return }
            state.shownByteCount = isShort ? state.shownByteCount : body.byteCount
            switch result {
            // Errors of the file are reported at its end.
            case .success(.over), .failure: state.isOver = true
            case .success(.tooFewBytes), .success(.unwritten), .success(.thumbnail), .success(.preview): break
            }
        }
        // More may have arrived meanwhile, and nothing may follow it.
        if !cancellation.isCancelled { update() }
    }
}

/// The decoder of previews, and the number of bytes it has taken.
private final class PreviewDecoder: @unchecked Sendable {
    // `@unchecked`: one piece of work uses it at a time. Each starts after the previous one has noted its end
    // (`PreviewPace`, under a lock).
    private let style: PreviewStyle
    private var decoder: (any IncrementalImageDecoder)?
    private var takenByteCount = 0
    private var awaitsThumbnail: Bool
    private var order: PassOrder?
    private var number = 0

    enum Outcome {
        case preview(Image)
        /// The thumbnail in the file. No byte has been decoded yet.
        case thumbnail(Image)
        case tooFewBytes
        /// The body is moving to a file, which does not have the new bytes yet.
        case unwritten
        /// There will be no preview.
        case over

        var image: Image? {
            switch self {
            case .preview(let image), .thumbnail(let image): image
            case .tooFewBytes, .unwritten, .over: nil
            }
        }
    }

    init(style: PreviewStyle) {
        self.style = style
        awaitsThumbnail = style.showsThumbnail
    }

    /// Whether this file's previews are blurred.
    var isBlurring: Bool { style.content != .sharp && order == .coarseToFine }

    func preview(
        of body: PartialBody, expected: Int64?, codecs: CodecRegistry, options: DecodingOptions,
        cancellation: Cancellation
    ) throws(WebImageError) -> Outcome {
        let data = body.data
        // While a body moves to a file, less of it can be read than before.
        guard data.count > takenByteCount else { return .unwritten }
        if awaitsThumbnail {
            switch EmbeddedThumbnail(startOf: data) {
            case .undecided: return .tooFewBytes
            case .none: awaitsThumbnail = false
            case .jpeg(let thumbnail):
                awaitsThumbnail = false
                if let image = try? self.image(of: thumbnail, codecs, options) { return .thumbnail(image) }
            }
        }
        guard let content = style.content else { return .over }
        if content != .sharp, order == nil {
            order = PassOrder(startOf: data)
            guard order != nil else { return .tooFewBytes }
        }
        if content == .blurred, order == .rows { return .over }
        if let decoder {
            try decoder.append(Data(data.dropFirst(takenByteCount)))
        } else {
            decoder = try codecs.makeIncrementalDecoder(startingWith: data, options: options)
            // The signature of a format is shorter than this. More bytes would not give a decoder.
            guard decoder != nil else { return data.count > 64 ? .over : .tooFewBytes }
        }
        takenByteCount = data.count
        guard let decoder, var image = try decoder.preview() else { return .tooFewBytes }
        image.animation = options.firstFrameOnly ? nil : decoder.animation
        guard isBlurring else { return .preview(image) }
        return try blur(image, received: Int64(data.count), expected: expected, cancellation)
    }

    /// Decodes the thumbnail of the file like the image, within the same limits.
    private func image(
        of thumbnail: Data, _ codecs: CodecRegistry, _ options: DecodingOptions
    ) throws(WebImageError) -> Image {
        var options = options
        (options.page, options.allowsDamage) = (nil, false)
        var image = try codecs.decode(thumbnail, options: options)
        // Nothing may take it for the image.
        image.isPartial = true
        return image
    }

    private func blur(
        _ image: Image, received: Int64, expected: Int64?, _ cancellation: Cancellation
    ) throws(WebImageError) -> Outcome {
        // The last pixel is set once the first pass is complete. In an image with alpha it may be transparent, so it
        // tells nothing.
        let hasAlpha = decoder?.probe?.hasAlpha ?? true
        guard hasAlpha || image.pixels[image.width - 1, image.height - 1].w > 0 else { return .tooFewBytes }
        number += 1
        let radius = BlurRadius.points(received: received, expected: expected, number: number)
        var blurred = image
        blurred.pixels = try image.pixels.blurred(radius: radius * image.scale, cancellation: cancellation)
        return .preview(blurred)
    }
}
