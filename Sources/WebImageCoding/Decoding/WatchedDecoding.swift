internal import FoundationEssentials
internal import WebImageCore

// Every call of a decoder goes through these: the registry makes them, frames and previews follow.

extension DecodingLimits {
    /// The maximum time for a decoder that cannot be interrupted.
    var watchedSeconds: Double { seconds ?? 120 }

    /// Calls `body` on a thread that is abandoned at the time limit, unless this already is one.
    fileprivate func watched<Value: Sendable>(
        _ format: ImageFormat, _ cancellation: Cancellation?, budget: TimeBudget? = nil,
        _ body: @escaping @Sendable (Cancellation?) throws(WebImageError) -> Value
    ) throws(WebImageError) -> Value {
        if let outer = cancellation?.budget {
            if outer.isAbandoned { throw outer.error }
            // A part of a larger decode, such as an image in an icon.
            if outer.isWatched { return try body(cancellation) }
            return try DecodingWatchdog.shared.run(format, within: outer) { () throws(WebImageError) in
                try body(cancellation)
            }
        }
        let budget = budget ?? TimeBudget(seconds: watchedSeconds)
        let watched = Cancellation(cancellation, within: budget)
        return try DecodingWatchdog.shared.run(format, within: budget) { () throws(WebImageError) in
            try body(watched)
        }
    }
}

extension ImageDecoder {
    /// Whether it is called by the thread that needs its result. A custom decoder is, unless the limits have a time: another thread takes
    /// 50 µs for each call, more than all else of a load from memory.
    private func staysOnThread(_ limits: DecodingLimits) -> Bool {
        conduct.returnsInTime || limits.seconds == nil && !(self is any ProbingDecoder)
    }

    /// Calls `body`, which reads a header with this decoder.
    func watched<Value: Sendable>(
        _ limits: DecodingLimits = .default, _ body: @escaping @Sendable () throws(WebImageError) -> Value
    ) throws(WebImageError) -> Value {
        if staysOnThread(limits) { return try body() }
        return try limits.watched(format, nil) { (_) throws(WebImageError) in try body() }
    }

    /// Decodes `data` within the limit on time.
    func watchedImage(of data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        if staysOnThread(options.limits) { return try decode(data, options: options) }
        var image = try options.limits.watched(format, options.cancellation) { (cancellation) throws(WebImageError) in
            var options = options
            options.cancellation = cancellation
            return try decode(data, options: options)
        }
        image.animation = image.animation.map { WatchedAnimation($0, format, options.limits) }
        return image
    }

    /// Returns the animation of `data`, whose frames are decoded within the limits.
    func watchedAnimation(
        of data: Data, options: DecodingOptions
    ) throws(WebImageError) -> (any AnimationSource)? {
        if staysOnThread(options.limits) { return try animation(of: data, options: options) }
        let source = try options.limits.watched(format, options.cancellation) {
            (cancellation) throws(WebImageError) in
            var options = options
            options.cancellation = cancellation
            return try animation(of: data, options: options)
        }
        return source.map { WatchedAnimation($0, format, options.limits) }
    }

    /// Returns an incremental decoder whose calls together are within the limits.
    func makeWatchedIncrementalDecoder(
        options: DecodingOptions
    ) throws(WebImageError) -> (any IncrementalImageDecoder)? {
        if staysOnThread(options.limits) { return makeIncrementalDecoder(options: options) }
        return try WatchedIncrementalDecoder(self, options: options)
    }
}

/// A value that one thread at a time uses, which need not be the same one.
private struct Confined<Value>: @unchecked Sendable {
    // `@unchecked`: the caller waits while the other thread uses the value, and does not use it again after the limit.
    let value: Value
}

/// An animation whose frames are decoded on threads that can be abandoned.
private struct WatchedAnimation: LimitedAnimation {
    private let base: any AnimationSource
    private let format: ImageFormat
    private let ownLimits: DecodingLimits

    init(_ base: any AnimationSource, _ format: ImageFormat, _ limits: DecodingLimits) {
        (self.base, self.format, ownLimits) = (base, format, limits)
    }

    var limits: DecodingLimits? { ownLimits }
    var identity: AnimationIdentity { base.identity }
    var frameSize: PixelSize { base.frameSize }
    var frames: [AnimationFrame] { base.frames }
    var loopCount: Int { base.loopCount }
    var isComplete: Bool { base.isComplete }
    var byteCount: Int { base.byteCount }

    func makeFrameReader() -> any AnimationFrameReader { Reader(base, format, ownLimits) }

    private final class Reader: AnimationFrameReader {
        private let base: any AnimationSource
        private let format: ImageFormat
        private let limits: DecodingLimits
        /// `nil` before the first frame, and after one that did not return.
        private var reader: Confined<any AnimationFrameReader>?

        init(_ base: any AnimationSource, _ format: ImageFormat, _ limits: DecodingLimits) {
            (self.base, self.format, self.limits) = (base, format, limits)
        }

        func frame(at index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
            let reader = reader ?? Confined(value: base.makeFrameReader())
            self.reader = nil
            let budget = cancellation?.budget ?? TimeBudget(seconds: limits.watchedSeconds)
            // Kept after an error as well: other frames can still be requested.
            defer { if !budget.isAbandoned { self.reader = reader } }
            return try limits.watched(format, cancellation, budget: budget) { (cancellation) throws(WebImageError) in
                try reader.value.frame(at: index, cancellation: cancellation)
            }
        }
    }
}

/// An incremental decoder whose calls run on threads that can be abandoned.
private final class WatchedIncrementalDecoder: ProbingIncrementalDecoder {
    private let format: ImageFormat
    private let limits: DecodingLimits
    private let cancellation: Cancellation
    private let budget: TimeBudget
    private let decoder: Confined<any IncrementalImageDecoder>
    private(set) var probe: ImageProbe?
    private(set) var animation: (any AnimationSource)?

    /// `nil` if the format can only be decoded as a whole.
    init?(_ decoder: some ImageDecoder, options: DecodingOptions) throws(WebImageError) {
        let budget = options.cancellation?.budget ?? TimeBudget(seconds: options.limits.watchedSeconds)
        var options = options
        options.cancellation =
            options.cancellation?.budget == nil
            ? Cancellation(options.cancellation, within: budget) : options.cancellation
        guard let incremental = decoder.makeIncrementalDecoder(options: options) else { return nil }
        self.decoder = Confined(value: incremental)
        format = decoder.format
        limits = options.limits
        self.budget = budget
        cancellation = options.cancellation ?? Cancellation(nil, within: budget)
    }

    func append(_ bytes: Data) throws(WebImageError) {
        let known = try watched { (decoder) throws(WebImageError) in
            try decoder.append(bytes)
            return (decoder.probe, decoder.animation)
        }
        probe = known.0
        animation = known.1.map { WatchedAnimation($0, format, limits) }
    }

    func preview() throws(WebImageError) -> Image? {
        try watched { (decoder) throws(WebImageError) in try decoder.preview() }
    }

    func finish() throws(WebImageError) -> Image {
        var image = try watched { (decoder) throws(WebImageError) in try decoder.finish() }
        image.animation = image.animation.map { WatchedAnimation($0, format, limits) }
        return image
    }

    private func watched<Value: Sendable>(
        _ body: @escaping @Sendable (any IncrementalImageDecoder) throws(WebImageError) -> Value
    ) throws(WebImageError) -> Value {
        try limits.watched(format, cancellation) { [decoder] (_) throws(WebImageError) in try body(decoder.value) }
    }
}
