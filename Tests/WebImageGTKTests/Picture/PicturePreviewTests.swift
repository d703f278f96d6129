import CWebImageGTK
import FoundationEssentials
import XCTest

@testable import WebImageGTK

/// Files that are shown while they arrive.
final class PicturePreviewTests: GTKTestCase {
    func testShowsTheRowsThatAreThereAndThenThePicture() throws {
        try MainActor.assumeIsolated {
            let fixture = PictureFixture(decodesPNG: true) { $0.previewInterval = .zero }
            let (window, picture) = (TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            let url = try fixture.url("photograph")
            let outcomes = Outcomes()
            let file = try noise()
            picture.setImage(
                url, placeholder: .color(.white), options: .progressive, manager: fixture.manager,
                completion: { outcomes.append($0) })
            let load = fixture.loader.lastLoad(of: url)
            load?.begin(expectedByteCount: Int64(file.count))
            load?.send(file.prefix(file.count / 2))
            pump("a preview") { picture.image?.isPartial == true }
            guard case .loading(let received, _) = picture.loadState else { return XCTFail("\(picture.loadState)") }
            XCTAssertEqual(received, Int64(file.count / 2))
            XCTAssertTrue(outcomes.results.isEmpty)
            // The upper half is sharp, the lower one not there yet.
            let preview = Rendering(of: gtk_picture_get_paintable(picture.picture), width: 64, height: 64)
            XCTAssertEqual(preview[5, 5], picture.image?.pixels[5, 5])
            load?.send(file.dropFirst(file.count / 2))
            load?.end()
            pump("the picture") { picture.loadState == .loaded(.remote) }
            XCTAssertEqual(picture.image?.isPartial, false)
            let whole = Rendering(of: gtk_picture_get_paintable(picture.picture), width: 64, height: 64)
            XCTAssertEqual(whole[5, 5], preview[5, 5])
            XCTAssertEqual(whole[60, 60], picture.image?.pixels[60, 60])
            XCTAssertNotEqual(whole[60, 60], preview[60, 60])
            pumpUntilIdle()
            XCTAssertEqual(outcomes.successCount, 1)
        }
    }

    func testAnAnimationPlaysWhileItArrivesAndGoesOnAtItsEnd() throws {
        try MainActor.assumeIsolated {
            let fixture = PictureFixture(decodesPNG: true) { $0.previewInterval = .zero }
            let (window, picture) = (TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            let url = try fixture.url("film")
            let file = try film(frameCount: 10, duration: 0.02)
            picture.setImage(url, options: .progressive, manager: fixture.manager)
            let load = fixture.loader.lastLoad(of: url)
            load?.begin(expectedByteCount: Int64(file.count))
            load?.send(file.prefix(file.count * 6 / 10))
            pump("the end of what is there") {
                picture.player?.isWaiting == true && picture.player?.currentFrameIndex ?? 0 > 1
            }
            let player = picture.player
            load?.send(file.dropFirst(file.count * 6 / 10))
            load?.end()
            pump("the last frame") { picture.player?.currentFrameIndex == 9 }
            XCTAssertTrue(picture.player === player, "it goes on, and does not begin again")
            XCTAssertEqual(player?.completedLoopCount, 0)
        }
    }

    func testAnotherURLEndsThePreviews() throws {
        try MainActor.assumeIsolated {
            let fixture = PictureFixture(decodesPNG: true) { $0.previewInterval = .zero }
            let (window, picture) = (TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            let url = try fixture.url("photograph")
            let file = try noise()
            picture.setImage(url, options: .progressive, manager: fixture.manager)
            let load = fixture.loader.lastLoad(of: url)
            load?.begin(expectedByteCount: Int64(file.count))
            load?.send(file.prefix(file.count / 2))
            // On its way, but the loop has not turned.
            waitOffMain("a preview") { fixture.manager.counters.previews > 0 }
            picture.setImage(try fixture.url("other"), placeholder: .color(.white), manager: fixture.manager)
            pumpUntilIdle()
            XCTAssertNil(picture.image)
            XCTAssertEqual(drawnPixel(of: picture), SIMD4(255, 255, 255, 255))
        }
    }
}

/// An animation of so many frames, each of another grey, as GIF.
func film(frameCount: Int, duration: Double, width: Int = 40) throws -> Data {
    var animation = EncodableAnimation()
    for number in 0..<frameCount {
        let value = UInt8(number * 200 / frameCount + 20)
        animation.append(try Swatch(red: value, green: value, blue: value, width: width).image(), duration: duration)
    }
    return try CodecRegistry.shared.encode(animation, as: .gif)
}

/// 64 by 64 pixels of noise, as PNG.
private func noise() throws -> Data {
    var pixels = try MutablePixelBuffer(width: 64, height: 64)
    var state: UInt32 = 1
    pixels.withUnsafeMutableBytes { bytes in
        for index in bytes.indices {
            state = state &* 1_664_525 &+ 1_013_904_223
            bytes[index] = index % 4 == 3 ? 255 : UInt8(truncatingIfNeeded: state >> 24)
        }
    }
    return try CodecRegistry.shared.encode(Image(pixels: pixels.freeze(isOpaque: true)), as: .png)
}
