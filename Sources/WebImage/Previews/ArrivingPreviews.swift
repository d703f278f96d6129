import FoundationEssentials
import WebImageCoding
import WebImageCore
import WebImageProcessing

/// Makes previews of one body while it arrives, on the threads for decoding.
///
/// ```
///  show(body) ─► busy, or not due yet? ── yes ──► only the newest body is remembered, until it is time
///                      │ no                                        ▲
///                      └─► decode what is new ─► blur ─► report(provisional:)
/// ```
/// One at a time, so that a slow decoder falls back behind the network instead of piling work up; the bytes of a preview left
/// out are in the next one.
final class ArrivingPreviews: Sendable {
    private let load: ImageLoad
    private let style: PreviewStyle
    /// Stops the decoder for good, once nobody waits.
    private let abandonment: Cancellation
    private let state: Lock<State>

    private struct State {
        var expected: Int64?
        var newest: PartialBody?
        var decoder: PreviewDecoder
        /// How much of it the last attempt was made of.
        var shownByteCount = 0
        var pace = PreviewPace()
        /// Nothing more is to be had of this file.
        var isOver = false

        /// Forgets the body of an attempt that has failed.
        mutating func startAnew(_ decoder: PreviewDecoder) {
            (newest, shownByteCount, isOver) = (nil, 0, false)
            self.decoder = decoder
        }

        /// The picture itself is due before a preview would be.
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

    /// Takes the body as far as it is there.
    func show(_ body: PartialBody) {
        let isNews = state.withLock { state in
            // Another attempt at the transfer brings another body: nothing of the last one counts.
            if let newest = state.newest, newest.collector !== body.collector {
                state.startAnew(PreviewDecoder(style: style))
            }
            // One on its way to a late subscriber may come after a longer one.
            guard body.byteCount > state.newest?.byteCount ?? 0 else { return false }
            state.newest = body
            return true
        }
        if isNews { update() }
    }

    /// Begins the next preview, if one is due and there is something new to show.
    private func update() {
        let now = pipeline.previewTiming.now()
        let delay = state.withLock { state -> Duration? in
            guard !state.isOver, !state.isNearlyThere, state.newest?.byteCount ?? 0 > state.shownByteCount
            else { return nil }
            return state.pace.next(at: now)
        }
        guard let delay else { return }
        guard delay == .zero else {
            // The transfer may stall, with rows that nobody has seen.
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
        let options = load.context.decodingOptions(pipeline, damage: .showGoodPart, cancellation: abandonment)
        let result = Result { () throws(WebImageError) in
            try decoder.preview(
                of: body, expected: expected, codecs: pipeline.codecs, options: options, cancellation: cancellation)
        }
        if case .success(.preview(let image)) = result, !cancellation.isCancelled {
            pipeline.counters.change { $0.previews += 1 }
            var response = load.response(image, .remote)
            response.previewKind = .arriving
            load.job.report(provisional: response)
        }
        let ended = pipeline.previewTiming.now()
        state.withLock { state in
            // One that shows nothing has cost its time, too. Bytes that are not in their file yet are looked for after an
            // interval: nothing else may arrive.
            var isShort = false
            if case .success(.unwritten) = result { isShort = true }
            let due =
                switch result {
                case .success(.preview), .success(.unwritten):
                    pipeline.previewTiming.next(begun: begun, ended: ended, isBlurred: decoder.isBlurring)
                default: PreviewTiming.earliest(begun: begun, ended: ended)
                }
            state.pace.end(due: state.decoder === decoder ? due : nil)
            guard state.decoder === decoder else { return }
            state.shownByteCount = isShort ? state.shownByteCount : body.byteCount
            switch result {
            // What is wrong with the file is told at its end.
            case .success(.over), .failure: state.isOver = true
            case .success(.tooFewBytes), .success(.unwritten), .success(.preview): break
            }
        }
        // More may have arrived meanwhile, and nothing after it.
        if !cancellation.isCancelled { update() }
    }
}

/// The decoder of previews, and what it has taken so far.
private final class PreviewDecoder: @unchecked Sendable {
    // `@unchecked`: it is used by one piece of work at a time, each of which begins after the last has noted its end
    // (`PreviewPace`, under a lock).
    private let style: PreviewStyle
    private var decoder: (any IncrementalImageDecoder)?
    private var takenByteCount = 0
    private var order: PassOrder?
    private var number = 0

    enum Outcome {
        case preview(Image)
        case tooFewBytes
        /// The body moves to a file, which does not have the new bytes yet.
        case unwritten
        /// There will be none.
        case over
    }

    init(style: PreviewStyle) { self.style = style }

    /// Whether this file's previews are blurred.
    var isBlurring: Bool { style != .sharp && order == .coarseToFine }

    func preview(
        of body: PartialBody, expected: Int64?, codecs: CodecRegistry, options: DecodingOptions,
        cancellation: Cancellation
    ) throws(WebImageError) -> Outcome {
        let data = body.data
        // While a body moves to a file, less of it can be read than before.
        guard data.count > takenByteCount else { return .unwritten }
        if style != .sharp, order == nil {
            order = PassOrder(startOf: data)
            guard order != nil else { return .tooFewBytes }
        }
        if style == .blurred, order == .rows { return .over }
        if let decoder {
            try decoder.append(Data(data.dropFirst(takenByteCount)))
        } else {
            decoder = try codecs.makeIncrementalDecoder(startingWith: data, options: options)
            // A decoder that shows nothing early is not found out by more bytes than a format's signature needs.
            guard decoder != nil else { return data.count > 64 ? .over : .tooFewBytes }
        }
        takenByteCount = data.count
        guard let decoder, var image = try decoder.preview() else { return .tooFewBytes }
        image.animation = options.firstFrameOnly ? nil : decoder.animation
        guard isBlurring else { return .preview(image) }
        return try blur(image, received: Int64(data.count), expected: expected, cancellation)
    }

    private func blur(
        _ image: Image, received: Int64, expected: Int64?, _ cancellation: Cancellation
    ) throws(WebImageError) -> Outcome {
        // Once the first pass is through, the last pixel is there. Where pixels may be clear, none tells.
        let hasAlpha = decoder?.probe?.hasAlpha ?? true
        guard hasAlpha || image.pixels[image.width - 1, image.height - 1].w > 0 else { return .tooFewBytes }
        number += 1
        let radius = BlurRadius.points(received: received, expected: expected, number: number)
        var blurred = image
        blurred.pixels = try image.pixels.blurred(radius: radius * image.scale, cancellation: cancellation)
        return .preview(blurred)
    }
}
