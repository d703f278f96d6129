import CWebImageGTK
import Foundation
import GTKObjects
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK

/// How many pixels have each brightness.
final class GalleryHistogramTests: GTKTestCase {
    func testCountsEachChannelAndTheLuminance() throws {
        let image = try picture(10, 10) { x, _ in x < 3 ? SIMD4(255, 0, 0, 255) : SIMD4(255, 255, 255, 255) }
        let histogram = Histogram(of: image.pixels)
        XCTAssertEqual(histogram.pixelCount, 100)
        XCTAssertEqual(histogram[.red][255], 100)
        XCTAssertEqual([histogram[.green][0], histogram[.green][255]], [30, 70])
        // Red is 21 % of the luminance.
        XCTAssertEqual([histogram[.luminance][54], histogram[.luminance][255]], [30, 70])
        XCTAssertEqual(histogram.cutOff.white, 0.7)
        XCTAssertEqual(histogram.text, "Mean brightness 194 of 255, 0 % black, 70 % white")
    }

    func testTransparentPixelsDoNotCount() throws {
        // Half transparent white is premultiplied.
        let image = try picture(4, 1) { x, _ in x == 0 ? SIMD4(128, 128, 128, 128) : SIMD4(0, 0, 0, 0) }
        let histogram = Histogram(of: image.pixels)
        XCTAssertEqual(histogram.pixelCount, 1)
        XCTAssertEqual(histogram[.luminance][255], 1)
    }

    func testTheEndsDoNotMakeTheRestSmall() throws {
        let image = try picture(100, 1) { x, _ in x < 90 ? SIMD4(0, 0, 0, 255) : SIMD4(100, 100, 100, 255) }
        let heights = Histogram(of: image.pixels).heights(of: .luminance)
        XCTAssertEqual([heights[0], heights[100], heights[50]], [1, 1, 0])
    }

    func testOfALargeImageSomePixelsAreCounted() throws {
        let histogram = Histogram(of: try picture(1_200, 900) { _, _ in SIMD4(9, 9, 9, 255) }.pixels)
        XCTAssertLessThan(histogram.pixelCount, 300_000)
        XCTAssertEqual(histogram[.luminance][9], histogram.pixelCount)
    }

    func testTheInspectorHasTheHistogramOfTheImageOnScreen() throws {
        try WindowFixture.with(["a.png", "b.png"]) { fixture in
            fixture.open("a.png")
            fixture.window.inspect()
            pump("the inspector") { fixture.window.shownInspector != nil }
            let view = try XCTUnwrap(fixture.window.shownInspector).histogram
            pump("the histogram") { view.histogram?[.red][0] ?? 0 > 0 }
            fixture.run("viewer-next")
            pump("the other one") { view.histogram?[.red][5] ?? 0 > 0 }
            pump("the viewer") { fixture.window.isSettled }
            // Those from memory are as many as the sizes that the canvas has while the inspector opens.
            let reads = fixture.session.loads.records.filter { $0.source != .memory }.map(\.url.lastPathComponent)
            XCTAssertEqual(reads.sorted(), ["a.png", "b.png"], "they are not loaded for their histograms")
        }
    }
}
