@testable import WebImageAnimation
#if WEBIMAGE_FORMATS
    import CWebImageGTK
    import XCTest

    @testable import GTKTestSupport
    @testable import WebImageGTK

    /// Formats of libraries in views.
    final class FormatTests: GTKTestCase {

        /// An AVIF sequence and an animated JPEG XL play as a GIF does: all frames, as often as the file tells.
        func testPlaysSequences() throws {
            try MainActor.assumeIsolated {
                let registry = CodecRegistry.shared
                for format in [ImageFormat.avif, .jpegXL] where registry.canEncodeAnimation(as: format) {
                    let swatches = [Swatch.red, .green, .blue]
                    var animation = EncodableAnimation(loopCount: 2)
                    for swatch in swatches { animation.append(try swatch.image(), duration: .milliseconds(50)) }
                    let data = try registry.encode(animation, as: format, options: EncodingOptions(isLossless: true))
                    let (window, picture) = (TestWindow(), WebPicture())
                    defer { window.close() }
                    window.show(picture)
                    // libavif 0.11 does not write how often a sequence plays.
                    picture.playback.loopCount = 2
                    var events: [String] = []
                    picture.onAnimationEvent = { event in
                        if case .loopEnded(let count) = event { events.append("loop \(count)") }
                    }
                    picture.image = try registry.decode(data)
                    var seen: Set<SIMD4<UInt8>> = []
                    pump("the end of \(format.name)") {
                        seen.insert(drawnPixel(of: picture))
                        return picture.player?.status == .finished
                    }
                    XCTAssertEqual(seen, Set(swatches.map(\.pixel)))
                    XCTAssertEqual(events, ["loop 1", "loop 2"])
                }
            }
        }
    }
#endif
