internal import FoundationEssentials
public import WebImageCore

extension DecodingLimits {
    /// Calls `body` with a flag that is set when `cancellation` is, or when the time limit is exceeded.
    ///
    /// If `cancellation` has a time limit already, this is part of a larger decode, and that limit applies.
    func withTimeLimit<Result>(
        _ cancellation: Cancellation?, _ body: (Cancellation?) throws(WebImageError) -> Result
    ) throws(WebImageError) -> Result {
        guard let processorTime, TimeBudget.of(cancellation) == nil else { return try body(cancellation) }
        let budget = TimeBudget(processorTime)
        return try budget.running { () throws(WebImageError) in try body(budget.cancellation(after: cancellation)) }
    }
}

extension DecodingOptions {
    /// Calls `body` with options whose ``cancellation`` includes the time limit, ``DecodingLimits/processorTime``. For parts of custom decoders
    /// that ``CodecRegistry`` does not call itself, such as the frames of an animation.
    ///
    /// - Throws: ``WebImageError/LimitFailure/processorTime(limit:)``, and what `body` throws.
    public func withTimeLimit<Result>(
        _ body: (DecodingOptions) throws(WebImageError) -> Result
    ) throws(WebImageError) -> Result {
        try limits.withTimeLimit(cancellation) { (cancellation) throws(WebImageError) in
            var options = self
            options.cancellation = cancellation
            return try body(options)
        }
    }

    /// Returns the decoder that `make` creates, with the time limit applied to the sum of all its calls.
    func withTimeLimit(
        incremental make: (DecodingOptions) -> (any IncrementalImageDecoder)?
    ) -> (any IncrementalImageDecoder)? {
        guard let processorTime = limits.processorTime, TimeBudget.of(cancellation) == nil else { return make(self) }
        let budget = TimeBudget(processorTime)
        var options = self
        options.cancellation = budget.cancellation(after: cancellation)
        return make(options).map { TimeLimitedDecoder($0, budget: budget) }
    }
}

/// Measures the time of another decoder's calls.
private final class TimeLimitedDecoder: IncrementalImageDecoder {
    private let decoder: any IncrementalImageDecoder
    private let budget: TimeBudget

    init(_ decoder: any IncrementalImageDecoder, budget: TimeBudget) {
        self.decoder = decoder
        self.budget = budget
    }

    var probe: ImageProbe? { decoder.probe }
    var animation: (any AnimationSource)? { decoder.animation }

    func append(_ bytes: Data) throws(WebImageError) {
        try budget.running { () throws(WebImageError) in try decoder.append(bytes) }
    }

    func preview() throws(WebImageError) -> Image? {
        try budget.running { () throws(WebImageError) in try decoder.preview() }
    }

    func finish() throws(WebImageError) -> Image {
        try budget.running { () throws(WebImageError) in try decoder.finish() }
    }
}
