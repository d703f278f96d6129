import FoundationEssentials
import Testing

@testable import WebImage

/// The options' bits, and the previews they ask for.
@Suite(.timeLimit(.minutes(3))) struct OptionPropertyTests {
    private func request(_ options: WebImageOptions) -> WebImageRequest {
        WebImageRequest(URL(filePath: "/a.jpg"), options: options)
    }

    @Test func previewsAreSharpBlurredOrBlurredWherePossible() {
        #expect(request([]).options.previews == nil)
        #expect(request(.progressive).options.previews == PreviewStyle(content: .sharp))
        #expect(request(.progressiveBlur).options.previews == PreviewStyle(content: .blurred))
        #expect(request([.progressive, .progressiveBlur]).options.previews == PreviewStyle(content: .blurredIfWhole))
        #expect(request(.progressiveThumbnail).options.previews == PreviewStyle(showsThumbnail: true))
        #expect(request([.progressive, .ignoreDecoding]).options.previews == nil)
    }

    @Test func everyOptionHasItsOwnBit() {
        let all: [WebImageOptions] = [
            .progressive, .progressiveBlur, .waitForStore, .queryMemoryData, .queryDiskSync, .ignoreDecoding,
            .avoidForcedDecode, .firstFrameOnly, .preloadAllFrames, .matchAnimatedKind, .showNetworkActivity,
            .continueInBackground, .progressiveThumbnail,
        ]
        #expect(all.allSatisfy { $0.rawValue.nonzeroBitCount == 1 })
        #expect(Set(all).count == all.count)
    }
}
