import FoundationEssentials
import Testing

@testable import WebImage

/// What options say that properties say too, and which goes first.
@Suite struct OptionPropertyTests {
    private func request(_ options: WebImageOptions) -> WebImageRequest {
        WebImageRequest(URL(filePath: "/a.jpg"), options: options)
    }

    @Test func priorityOptionsGiveThePriorityUnlessItIsSet() {
        #expect(request([]).priority == .normal)
        #expect(request(.lowPriority).priority == .low)
        #expect(request(.highPriority).priority == .high)
        #expect(request([.lowPriority, .highPriority]).priority == .high)
        var set = request(.highPriority)
        set.priority = .veryLow
        #expect(set.priority == .veryLow)
        #expect(WebImageRequest(set.url, options: .lowPriority, priority: .normal).priority == .normal)
    }

    @Test func policyOptionsGiveThePolicyUnlessItIsSet() {
        #expect(request([]).cachePolicy == .cacheFirst)
        #expect(request(.cacheOnly).cachePolicy == .cacheOnly)
        #expect(request(.loaderOnly).cachePolicy == .reload)
        #expect(request([.cacheOnly, .loaderOnly, .refreshCache, .httpCache]).cachePolicy == .cacheOnly)
        #expect(request([.loaderOnly, .refreshCache, .httpCache]).cachePolicy == .reload)
        #expect(request([.refreshCache, .httpCache]).cachePolicy == .refresh)
        #expect(WebImageRequest(request([]).url, options: .cacheOnly, cachePolicy: .reload).cachePolicy == .reload)
        #expect(request(.refreshCache).cachePolicy == .refresh)
        #expect(request(.httpCache).cachePolicy == .http)
    }

    @Test func previewsAreSharpBlurredOrBlurredWherePossible() {
        #expect(request([]).options.previews == nil)
        #expect(request(.progressive).options.previews == .sharp)
        #expect(request(.progressiveBlur).options.previews == .blurred)
        #expect(request([.progressive, .progressiveBlur]).options.previews == .blurredIfWhole)
        #expect(request([.progressive, .ignoreDecoding]).options.previews == nil)
    }

    @Test func everyOptionHasABitOfItsOwn() {
        let all: [WebImageOptions] = [
            .ignoreDiskCache, .memoryOnly, .cacheOnly, .loaderOnly, .refreshCache, .httpCache, .queryMemoryData,
            .queryMemoryDataSync, .queryDiskSync, .matchAnimatedKind, .handleCookies, .useCredentialStorage,
            .allowInvalidCertificates, .showNetworkActivity, .continueInBackground, .lowPriority, .highPriority,
            .ignoreFailedURL, .retryFailed, .progressive, .progressiveBlur, .ignoreDecoding, .avoidForcedDecode,
            .firstFrameOnly, .preloadAllFrames, .scaleDownLarge, .transformAnimated, .transformVector, .waitForStore,
        ]
        #expect(all.allSatisfy { $0.rawValue.nonzeroBitCount == 1 })
        #expect(Set(all).count == all.count)
    }
}
