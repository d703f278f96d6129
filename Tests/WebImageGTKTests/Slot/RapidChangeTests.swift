import CWebImageGTK
import WebImageTestSupport
import XCTest

@testable import WebImageGTK

/// Whatever the order in which answers come, a view shows the picture of the last URL it got.
final class RapidChangeTests: GTKTestCase {
    func testTheLastOfTenThousandURLsWinsInEachOfFiftyViews() throws {
        try MainActor.assumeIsolated {
            let server = try ReverseServer()
            let manager = WebImageManager(
                configuration: WebImageManager.Configuration(
                    cache: ImageCache(memory: MemoryCache(costLimit: 1 << 14), disk: nil),
                    loaders: [ImageDownloader()], codecs: CodecRegistry(decoders: [SwatchDecoder()], encoders: [])))
            let window = TestWindow()
            defer { window.close() }
            let (viewCount, changeCount) = (50, 10_000)
            let pictures = (0..<viewCount).map { _ in WebPicture() }
            var wanted = [SIMD4<UInt8>](repeating: SIMD4(0, 0, 0, 0), count: viewCount)
            var staleCount = 0
            for (view, picture) in pictures.enumerated() {
                gtk_widget_set_size_request(picture.widget, 4, 4)
                window.add(picture.widget)
                picture.onLoadStateChange = { [weak picture] state in
                    guard case .loaded = state else { return }
                    if picture?.image?.pixels[0, 0] != wanted[view] { staleCount += 1 }
                }
            }
            window.present()
            pump("the map") { pictures.allSatisfy { $0.imageSlot.isOnScreen } }

            let outcomes = Outcomes()
            var random = SplitMix64(seed: 10)
            for number in 0..<changeCount {
                let view = Int.random(in: 0..<viewCount, using: &random)
                // Few enough colours that URLs come back, and some are in memory.
                let (red, green) = (UInt8((number / 4) & 255), UInt8((number / 4) >> 8))
                wanted[view] = SIMD4(red, green, UInt8(view), 255)
                pictures[view].setImage(
                    try server.url(red: red, green: green, blue: UInt8(view)), manager: manager,
                    completion: { outcomes.append($0) })
                if number % 20 == 0 { while g_main_context_iteration(nil, gboolean(0)) != 0 {} }
                // Once in a while the answers come, in their order.
                if number % 1000 == 999 {
                    pump("pictures") { pictures.allSatisfy { $0.loadState.isSettled } }
                }
            }
            pump("the last pictures") { pictures.allSatisfy { $0.loadState.isSettled } }
            pump("all completions") { outcomes.results.count == changeCount }
            pumpUntilIdle()
            XCTAssertEqual(staleCount, 0)
            XCTAssertEqual(outcomes.results.count, changeCount)
            XCTAssertTrue(outcomes.errors.allSatisfy { $0 == .cancelled })
            for (view, picture) in pictures.enumerated() {
                XCTAssertEqual(drawnPixel(of: picture), wanted[view])
            }
        }
    }
}

extension LoadState {
    fileprivate var isSettled: Bool {
        switch self {
        case .idle, .loaded, .failed: true
        case .loading: false
        }
    }
}
