import WebImage
import WebImageTestSupport
import XCTest

@testable import GTKTestSupport
@testable import WebImageGTK

/// The zoom's rules, for random images, windows and gestures.
final class ZoomGeometryTests: XCTestCase {
    private typealias Vector = ZoomGeometry.Vector

    private var random = SplitMix64(seed: 21)

    private func geometry() -> ZoomGeometry {
        ZoomGeometry(
            content: PointSize(
                width: .random(in: 1...9_000, using: &random), height: .random(in: 1...9_000, using: &random)),
            viewport: PointSize(
                width: .random(in: 100...3_000, using: &random), height: .random(in: 100...3_000, using: &random)))
    }

    private func point(in geometry: ZoomGeometry) -> Vector {
        Vector(.random(in: 0...1, using: &random), .random(in: 0...1, using: &random)) * geometry.viewport
    }

    private func change(_ geometry: inout ZoomGeometry) {
        switch Int.random(in: 0..<7, using: &random) {
        case 0, 1: geometry.zoom(by: .random(in: 0.3...3, using: &random), at: point(in: geometry))
        case 2:
            geometry.pan(by: Vector(.random(in: -900...900, using: &random), .random(in: -900...900, using: &random)))
        case 3: geometry.rotate(by: .random(in: -4...4, using: &random))
        case 4:
            geometry.resize(
                to: PointSize(
                    width: .random(in: 1...3_000, using: &random), height: .random(in: 1...3_000, using: &random)))
        case 5: geometry.fit()
        default:
            let ratio = Double.random(in: 0.5...4, using: &random)
            geometry.setContent(
                PointSize(width: geometry.content.x * ratio, height: geometry.content.y * ratio))
        }
    }

    func testAnImageNeverLeavesAGapOrItsLimits() {
        for _ in 0..<300 {
            var geometry = geometry()
            for _ in 0..<30 {
                change(&geometry)
                let area = geometry.area
                XCTAssertGreaterThanOrEqual(geometry.scale, geometry.scales.lowerBound * (1 - 1e-9))
                XCTAssertLessThanOrEqual(geometry.scale, geometry.scales.upperBound * (1 + 1e-9))
                for (position, length, space) in [
                    (area.x, area.width, geometry.viewport.x), (area.y, area.height, geometry.viewport.y),
                ] {
                    if length <= space {
                        XCTAssertEqual(position, (space - length) / 2, accuracy: 1e-6, "centered")
                    } else {
                        XCTAssertLessThanOrEqual(position, 1e-6)
                        XCTAssertGreaterThanOrEqual(position + length, space - 1e-6)
                    }
                }
                if geometry.isFitted { XCTAssertFalse(geometry.canPan) }
            }
        }
    }

    func testTheWholeImageFitsAndIsNotEnlarged() {
        for _ in 0..<500 {
            let geometry = geometry()
            XCTAssertTrue(geometry.isFitted)
            XCTAssertLessThanOrEqual(geometry.scale, 1)
            XCTAssertLessThanOrEqual(geometry.area.width, geometry.viewport.x + 1e-6)
            XCTAssertLessThanOrEqual(geometry.area.height, geometry.viewport.y + 1e-6)
            let fills =
                abs(geometry.area.width - geometry.viewport.x) < 1e-6
                || abs(geometry.area.height - geometry.viewport.y) < 1e-6
            XCTAssertTrue(fills || geometry.scale == 1)
        }
    }

    func testZoomingInKeepsThePointUnderThePointer() {
        for _ in 0..<500 {
            var geometry = geometry()
            // Larger than the viewport in both directions.
            let ratio = geometry.viewport / geometry.rotatedContent
            geometry.zoom(to: max(ratio.x, ratio.y) * 1.01)
            guard geometry.scale >= max(ratio.x, ratio.y) else { continue }
            let anchor = point(in: geometry)
            let before = (anchor - geometry.origin) / geometry.scale
            geometry.zoom(by: .random(in: 1...4, using: &random), at: anchor)
            let after = (anchor - geometry.origin) / geometry.scale
            XCTAssertEqual(before.x, after.x, accuracy: 1e-6 * max(1, before.x))
            XCTAssertEqual(before.y, after.y, accuracy: 1e-6 * max(1, before.y))
        }
    }

    func testFourQuarterTurnsChangeNothing() {
        for _ in 0..<200 {
            var geometry = geometry()
            geometry.zoom(by: .random(in: 1...5, using: &random), at: point(in: geometry))
            let viewport = max(geometry.viewport.x, geometry.viewport.y)
            geometry.resize(to: PointSize(width: viewport, height: viewport))
            let before = geometry
            for _ in 0..<4 { geometry.rotate(by: 1) }
            XCTAssertEqual(geometry.quarterTurns, before.quarterTurns)
            XCTAssertEqual(geometry.isFitted, before.isFitted)
            if before.isFitted { XCTAssertEqual(geometry.area.x, before.area.x, accuracy: 1e-6) }
            var left = before
            left.rotate(by: -1)
            var right = before
            right.rotate(by: 3)
            XCTAssertEqual(left, right)
        }
    }

    func testRotatedPartsCoverTheImage() {
        for turns in 0..<4 {
            var geometry = ZoomGeometry(
                content: PointSize(width: 600, height: 400), viewport: PointSize(width: 300, height: 500))
            geometry.rotate(by: turns)
            let whole = geometry.area(ofPart: PointRect(x: 0, y: 0, width: 1, height: 1))
            XCTAssertEqual(whole.x, geometry.area.x, accuracy: 1e-9)
            XCTAssertEqual(whole.width, geometry.area.width, accuracy: 1e-9)
            XCTAssertEqual(whole.height, geometry.area.height, accuracy: 1e-9)
            // The top left tenth of the image.
            let corner = geometry.area(ofPart: PointRect(x: 0, y: 0, width: 0.1, height: 0.1))
            let isRight = turns == 1 || turns == 2
            let isBottom = turns == 2 || turns == 3
            XCTAssertEqual(
                isRight ? corner.x + corner.width : corner.x, isRight ? whole.x + whole.width : whole.x, accuracy: 1e-9)
            XCTAssertEqual(
                isBottom ? corner.y + corner.height : corner.y, isBottom ? whole.y + whole.height : whole.y,
                accuracy: 1e-9)
        }
    }

    func testKnowingTheSizeLaterDoesNotMoveTheImage() {
        for _ in 0..<200 {
            var geometry = ZoomGeometry(
                content: PointSize(width: 900, height: 600), viewport: PointSize(width: 900, height: 700))
            geometry.zoom(by: 1.7, at: point(in: geometry))
            let before = geometry.area
            geometry.setContent(PointSize(width: 3_600, height: 2_400))
            XCTAssertEqual(geometry.area.x, before.x, accuracy: 1e-6)
            XCTAssertEqual(geometry.area.y, before.y, accuracy: 1e-6)
            XCTAssertEqual(geometry.area.width, before.width, accuracy: 1e-6)
        }
    }

    func testAnAnimatedZoomKeepsTheCommonPoint() {
        for _ in 0..<200 {
            var start = ZoomGeometry(
                content: PointSize(width: 4_000, height: 3_000), viewport: PointSize(width: 800, height: 600))
            start.zoom(to: 0.5)
            let anchor = point(in: start)
            var target = start
            target.zoom(by: 2, at: anchor)
            let fixed = (anchor - start.origin) / start.scale
            for progress in stride(from: 0.0, through: 1, by: 0.1) {
                let step = start.step(to: target, progress: progress)
                let place = step.origin + fixed * step.scale
                XCTAssertEqual(place.x, anchor.x, accuracy: 1e-6)
                XCTAssertEqual(place.y, anchor.y, accuracy: 1e-6)
            }
            XCTAssertEqual(start.step(to: target, progress: 1), target)
        }
    }

    func testInvalidNumbersChangeNothing() {
        var geometry = geometry()
        let before = geometry
        geometry.zoom(to: .nan)
        geometry.zoom(by: .infinity)
        geometry.pan(by: Vector(.nan, 0))
        XCTAssertEqual(geometry, before)
    }

    func testTheSamePartIsShownOfImagesOfOtherSizes() {
        var first = ZoomGeometry(
            content: PointSize(width: 4_000, height: 3_000), viewport: PointSize(width: 400, height: 400))
        var second = ZoomGeometry(
            content: PointSize(width: 1_000, height: 750), viewport: PointSize(width: 800, height: 800))
        first.zoom(to: 0.8, at: Vector(30, 300))
        first.pan(by: Vector(-40, 25))
        second.showPart(of: first)
        XCTAssertEqual(second.scale, 6.4, accuracy: 0.001)
        let middle = { (geometry: ZoomGeometry) in
            (geometry.viewport / 2 - geometry.origin) / (geometry.rotatedContent * geometry.scale)
        }
        for axis in 0..<2 { XCTAssertEqual(middle(second)[axis], middle(first)[axis], accuracy: 0.001) }
        first.fit()
        second.showPart(of: first)
        XCTAssertTrue(second.isFitted)
    }
}
