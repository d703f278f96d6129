internal import FoundationEssentials
internal import WebImageCore

extension DecodingLimits {
    /// Calls `body` with a flag that is set when `cancellation` is and, if time is limited, ends the work when it is over.
    ///
    /// What has such a flag already is a part of larger work, which has the limit.
    func withTimeLimit<Result>(
        _ cancellation: Cancellation?, _ body: (Cancellation?) throws(WebImageError) -> Result
    ) throws(WebImageError) -> Result {
        guard let seconds, cancellation?.budget == nil else { return try body(cancellation) }
        let budget = TimeBudget(seconds: seconds)
        return try budget.running { () throws(WebImageError) in try body(Cancellation(cancellation, within: budget)) }
    }
}

extension DecodingOptions {
    /// Calls `body` with options that also end the work when its time is over.
    func withTimeLimit<Result>(
        _ body: (DecodingOptions) throws(WebImageError) -> Result
    ) throws(WebImageError) -> Result {
        try limits.withTimeLimit(cancellation) { (cancellation) throws(WebImageError) in
            var options = self
            options.cancellation = cancellation
            return try body(options)
        }
    }

    /// What `make` makes of these options, with a limit on the time of all its calls together if there is one.
    func withTimeLimit(
        incremental make: (DecodingOptions) -> any IncrementalImageDecoder
    ) -> any IncrementalImageDecoder {
        guard let seconds = limits.seconds, cancellation?.budget == nil else { return make(self) }
        let budget = TimeBudget(seconds: seconds)
        var options = self
        options.cancellation = Cancellation(cancellation, within: budget)
        return TimeLimitedDecoder(make(options), budget: budget)
    }
}

/// Counts the time that the calls of another decoder take.
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
