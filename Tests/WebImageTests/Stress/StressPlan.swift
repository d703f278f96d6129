import FoundationEssentials
import WebImage
import WebImageTestSupport

/// One request of a stress test, as its seed has drawn it.
struct StressPlan {
    /// The function that asks for the image.
    enum Way { case callbacks, response, events }

    /// The end of the request.
    enum Fate {
        case stays
        /// Before it can have begun.
        case cancelledAtOnce
        /// Some requests later, by the thread that asked or on its callback queue.
        case cancelledLater, cancelledLaterOnItsQueue
        /// By its own handlers.
        case cancelledByProgress, cancelledByPreview, cancelledByItsEnd
        /// Together with other requests for the same URL.
        case cancelledWithOthers
    }

    let number: Int
    let variant: StressVariant
    let way: Way
    let fate: Fate
    let queueIndex: Int
    /// The number of the image that is shown until it is there.
    let lowResolutionNumber: Int?
    let keepsVariantOnDisk: Bool
    /// The priority that it is moved to while it runs.
    let laterPriority: LoadPriority?
    /// The request, but for what the test adds.
    let request: WebImageRequest

    /// Most ask for the same few images, as users do.
    static let numberCount = 240

    init(from source: any StressSource, using random: inout SplitMix64) throws {
        func chance(_ percentage: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percentage }
        number = Int.random(in: 0..<(chance(60) ? 24 : Self.numberCount), using: &random)
        variant = Self.variant(of: number, from: source, using: &random)
        way = chance(70) ? .callbacks : chance(50) ? .response : .events
        fate = Self.fate(using: &random)
        queueIndex = Int.random(in: 0..<3, using: &random)
        laterPriority = chance(20) ? LoadPriority.allCases.randomElement(using: &random) : nil
        keepsVariantOnDisk = variant != .undecoded && chance(8)

        var request = variant.request(try source.url(number))
        request.priority = LoadPriority.allCases.randomElement(using: &random) ?? .normal
        request.cachePolicy = Self.policy(using: &random)
        for (option, percentage) in Self.options where chance(percentage) { request.options.insert(option) }
        if chance(20) { request.retryPolicy = Self.retryPolicy }
        // Another address of the same.
        let address = request.url.absoluteString
        if chance(5), let url = URL(string: address + (address.contains("?") ? "&" : "?") + "mirror=1") {
            request.alternatives = [url]
        }
        if keepsVariantOnDisk {
            request.cacheAccess = .all
            // Of an animation's first frame a JPEG would be kept, whose colours are not quite the same.
            request.serializer = { image, data, _ in data ?? (try? CodecRegistry.shared.encode(image, as: .png)) }
        }
        if chance(6) { request.originalCacheAccess = .none }
        if chance(6) { request.originalCacheAccess.store = [] }
        if chance(8) { request.respectsBlockList = true }
        lowResolutionNumber = variant != .undecoded && chance(4) ? (number + 1) % Self.numberCount : nil
        request.lowResolutionURL = try lowResolutionNumber.map { try source.url($0) }
        self.request = request
    }

    private static let options: [(WebImageOptions, Int)] = [
        (.progressive, 25), (.waitForStore, 6), (.queryMemoryData, 6), (.queryDiskSync, 4), (.showNetworkActivity, 10),
        (.preloadAllFrames, 4), (.matchAnimatedKind, 4), (.continueInBackground, 4), (.progressiveThumbnail, 6),
    ]

    private static let retryPolicy: RetryPolicy = {
        var policy = RetryPolicy(maximumAttempts: 3)
        policy.initialBackoff = .microseconds(200)
        policy.maximumBackoff = .milliseconds(1)
        return policy
    }()

    private static func variant(
        of number: Int, from source: any StressSource, using random: inout SplitMix64
    ) -> StressVariant {
        let variant = Bool.random(using: &random) ? .whole : StressVariant.allCases.randomElement(using: &random)
        // Such bytes go to the disk on the word of their head alone, as is documented.
        if variant == .undecoded, source.mayBeCutUnnoticed(number) { return .whole }
        return variant ?? .whole
    }

    private static func policy(using random: inout SplitMix64) -> CachePolicy {
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<11: .cacheFirst
        case 11..<14: .http
        case 14..<16: .refresh
        case 16..<18: .reload
        case 18: .cacheOnly
        default: .offline
        }
    }

    private static func fate(using random: inout SplitMix64) -> Fate {
        switch Int.random(in: 0..<30, using: &random) {
        case 0, 1: .cancelledAtOnce
        case 2, 3: .cancelledLater
        case 4, 5: .cancelledLaterOnItsQueue
        case 6, 7: .cancelledByProgress
        case 8: .cancelledByPreview
        case 9: .cancelledByItsEnd
        case 10, 11: .cancelledWithOthers
        default: .stays
        }
    }
}
