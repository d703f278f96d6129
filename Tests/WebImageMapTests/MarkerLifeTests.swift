import CWebImageGTK
import CWebImageShumate
import GTKObjects
import XCTest

@testable import GTKTestSupport
@testable import WebImageGTK
@testable import WebImageMap

/// Panning, and the life of the widget.
final class MarkerLifeTests: GTKTestCase {
    func testALoadOutsideTheViewportHasLowPriorityUntilItIsVisible() throws {
        try MainActor.assumeIsolated {
            let (fixture, map, marker) = (PictureFixture(), TestMap(), makeMarker())
            defer { map.close() }
            let url = try fixture.url("red")
            map.lookAway()
            map.add(marker)
            map.window.present()
            pump("the map") { gtk_widget_get_mapped(map.widget) != 0 && gtk_widget_get_width(map.widget) == 300 }
            pump("the layout") { gtk_widget_get_mapped(marker.widget) == 0 }
            marker.setImage(url, manager: fixture.manager)
            pumpUntilIdle()
            XCTAssertEqual(fixture.loader.lastLoad(of: url)?.priority, .low)
            map.lookBack(at: marker)
            XCTAssertEqual(fixture.loader.lastLoad(of: url)?.priority, .high)
            XCTAssertEqual(fixture.loader.loads.count, 1)
        }
    }

    func testPanningAwayCancelsTheLoadAndPanningBackRestartsIt() throws {
        try MainActor.assumeIsolated {
            let (fixture, map, marker) = (PictureFixture(), TestMap(), makeMarker())
            defer { map.close() }
            map.show(marker)
            let url = try fixture.url("red")
            let outcomes = Outcomes()
            marker.setImage(url, manager: fixture.manager, completion: { outcomes.append($0) })
            map.lookAway(from: marker)
            let first = fixture.loader.lastLoad(of: url)
            pump("the cancel") { first?.isCancelled == true }
            XCTAssertEqual(marker.loadState, .idle)
            pumpUntilIdle()
            XCTAssertTrue(outcomes.results.isEmpty)

            map.lookBack(at: marker)
            pump("a second load") { fixture.loader.loads.count == 2 }
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the image") { drawnPixel(of: marker) == Swatch.red.pixel }
            pumpUntilIdle()
            XCTAssertEqual(outcomes.successCount, 1)
            XCTAssertEqual(outcomes.results.count, 1)
        }
    }

    func testBrieflyPanningAwayDoesNotCancel() throws {
        try MainActor.assumeIsolated {
            let (fixture, map, marker) = (PictureFixture(), TestMap(), makeMarker())
            defer { map.close() }
            map.show(marker)
            let url = try fixture.url("red")
            marker.setImage(url, manager: fixture.manager)
            map.lookAway()
            map.lookAtCenter()
            pumpUntilIdle()
            XCTAssertEqual(fixture.loader.lastLoad(of: url)?.isCancelled, false)
            XCTAssertEqual(fixture.loader.loads.count, 1)
        }
    }

    func testPanningAwayReleasesThePixelsAndPanningBackRestoresThem() throws {
        try MainActor.assumeIsolated {
            let (fixture, map, marker) = (PictureFixture(), TestMap(), makeMarker())
            defer { map.close() }
            map.show(marker)
            let url = try fixture.url("red")
            let endCount = LockBox(0)
            marker.setImage(url, manager: fixture.manager, completion: { _ in endCount.withLock { $0 += 1 } })
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the image") { marker.image != nil }
            weak let pixels = marker.image?.pixels

            map.lookAway(from: marker)
            pump("the release") { marker.image == nil }
            map.lookBack(at: marker)
            XCTAssertEqual(marker.loadState, .loaded(.memoryCacheFast))
            XCTAssertEqual(drawnPixel(of: marker), Swatch.red.pixel)

            map.lookAway(from: marker)
            pump("the release") { marker.image == nil }
            fixture.cache.memory.removeAll()
            pump("the end of the pixels") { pixels == nil }
            map.lookBack(at: marker)
            pump("a second load") { fixture.loader.loads.count == 2 }
            fixture.loader.lastLoad(of: url)?.answer(.blue)
            pump("the image") { drawnPixel(of: marker) == Swatch.blue.pixel }
            XCTAssertEqual(endCount.withLock { $0 }, 1)
        }
    }

    func testAMarkerCanKeepItsImageAndLoadOutsideTheViewport() throws {
        try MainActor.assumeIsolated {
            let (fixture, map, marker) = (PictureFixture(), TestMap(), makeMarker())
            defer { map.close() }
            (marker.loadsOffscreen, marker.releasesImageOffscreen) = (true, false)
            map.show(marker)
            let url = try fixture.url("red")
            marker.setImage(url, manager: fixture.manager)
            map.lookAway(from: marker)
            pumpUntilIdle()
            XCTAssertEqual(fixture.loader.lastLoad(of: url)?.isCancelled, false)
            XCTAssertEqual(fixture.loader.lastLoad(of: url)?.priority, .low)
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the image") { marker.image != nil }
            pumpUntilIdle()
            XCTAssertNotNil(marker.image)
        }
    }

    func testAThousandMarkersLoadVisibleImages() throws {
        try MainActor.assumeIsolated {
            let (fixture, map) = (PictureFixture(), TestMap())
            defer { map.close() }
            var markers: [WebMarker] = []
            // A tenth of a degree is 4.6 points wide: some 66 columns of the 100 are in sight.
            for number in 0..<1000 {
                let marker = WebMarker(
                    latitude: 45.6 + Double(number / 100) * 0.1, longitude: 5.05 + Double(number % 100) * 0.1)
                marker.size = PointSize(width: 4, height: 4)
                map.add(marker)
                markers.append(marker)
            }
            map.window.present()
            pump("the layout") {
                markers.contains { $0.imageSlot.isOnScreen } && gtk_widget_get_width(map.widget) == 300
            }
            for (number, marker) in markers.enumerated() {
                marker.setImage(try fixture.url("\(number)"), manager: fixture.manager)
            }
            let mapped = markers.filter { gtk_widget_get_mapped($0.widget) != 0 }
            XCTAssertTrue((500..<800).contains(mapped.count), "\(mapped.count)")
            XCTAssertEqual(fixture.loader.loads.filter { $0.priority == .high }.count, mapped.count)
            for load in fixture.loader.loads { load.answer(.red) }
            pump("what is in sight") { mapped.allSatisfy { $0.image != nil } }
            pump("no more") { markers.filter { $0.image != nil }.count == mapped.count }
            map.lookAway()
            pump("nothing") { markers.allSatisfy { $0.image == nil } }
            map.lookAtCenter()
            pump("all again") { mapped.allSatisfy { $0.image != nil } }
            XCTAssertEqual(fixture.loader.loads.count, 1000)
        }
    }

    func testRemovingTheMarkerCancelsAndFrees() throws {
        try MainActor.assumeIsolated {
            let (fixture, map) = (PictureFixture(), TestMap())
            defer { map.close() }
            let url = try fixture.url("red")
            let outcomes = Outcomes()
            weak var weakMarker: WebMarker?
            do {
                let marker = makeMarker()
                weakMarker = marker
                map.show(marker)
                marker.select()
                marker.setImage(url, manager: fixture.manager, completion: { outcomes.append($0) })
                marker.onLoadStateChange = { XCTFail("told \($0) in the middle of the destruction") }
                map.remove(marker)
            }
            pump("the end of the marker") { weakMarker == nil }
            pump("the cancel") { fixture.loader.lastLoad(of: url)?.isCancelled == true && !outcomes.results.isEmpty }
            XCTAssertEqual(outcomes.errors, [.cancelled])
            pumpUntilIdle()
            XCTAssertEqual(outcomes.results.count, 1)
        }
    }

    func testClosingTheWindowCancelsAndFrees() throws {
        try MainActor.assumeIsolated {
            let (fixture, map) = (PictureFixture(), TestMap())
            let url = try fixture.url("red")
            let outcomes = Outcomes()
            weak var weakMarker: WebMarker?
            do {
                let marker = makeMarker()
                weakMarker = marker
                map.show(marker)
                marker.setImage(url, manager: fixture.manager, completion: { outcomes.append($0) })
                marker.highlighted.setImage(
                    try fixture.url("other"), manager: fixture.manager, completion: { outcomes.append($0) })
            }
            map.close()
            pump("the end of the marker") { weakMarker == nil }
            pump("the cancels") { outcomes.errors == [.cancelled, .cancelled] }
            XCTAssertTrue(fixture.loader.loads.allSatisfy(\.isCancelled))
        }
    }

    func testAMarkerThatOutlivesItsWidgetStaysUsable() throws {
        try MainActor.assumeIsolated {
            let (fixture, map, marker) = (PictureFixture(), TestMap(), makeMarker())
            map.show(marker)
            map.close()
            pumpUntilIdle()
            let outcomes = Outcomes()
            marker.setImage(try fixture.url("red"), manager: fixture.manager, completion: { outcomes.append($0) })
            pump("the end") { !outcomes.results.isEmpty }
            XCTAssertEqual(outcomes.errors, [.cancelled])
            XCTAssertTrue(fixture.loader.loads.isEmpty)
            marker.size = PointSize(width: 9, height: 9)
            marker.alternativeText = "gone"
            marker.setLocation(latitude: 1, longitude: 2)
            XCTAssertEqual(marker.latitude, 1)
            XCTAssertFalse(marker.select())
            XCTAssertEqual(gtk_widget_get_mapped(marker.widget), 0)
        }
    }

    func testAnotherChildEndsItsLoads() throws {
        try MainActor.assumeIsolated {
            let (fixture, map, marker) = (PictureFixture(), TestMap(), makeMarker())
            defer { map.close() }
            map.show(marker)
            let url = try fixture.url("red")
            let outcomes = Outcomes()
            marker.setImage(url, manager: fixture.manager, completion: { outcomes.append($0) })
            shumate_marker_set_child(marker.marker, gtk_label_new("a label"))
            pump("the cancel") { fixture.loader.lastLoad(of: url)?.isCancelled == true && !outcomes.results.isEmpty }
            marker.setImage(url, manager: fixture.manager, completion: { outcomes.append($0) })
            pump("the second end") { outcomes.results.count == 2 }
            XCTAssertEqual(outcomes.errors, [.cancelled, .cancelled])
            XCTAssertEqual(fixture.loader.loads.count, 1)
        }
    }

    func testWrapsAMarkerThatExists() throws {
        try MainActor.assumeIsolated {
            let (fixture, map) = (PictureFixture(), TestMap())
            defer { map.close() }
            guard let pointer = shumate_marker_new() else { return XCTFail("no marker") }
            shumate_location_set_location(OpaquePointer(pointer), TestMap.center.latitude, TestMap.center.longitude)
            shumate_marker_set_child(pointer, gtk_label_new("a label"))
            shumate_marker_layer_add_marker(map.layer, pointer)
            let widget = ObjectPointer(pointer).widget
            XCTAssertNil(WebMarker.attached(to: widget))
            let marker = WebMarker(wrapping: pointer)
            XCTAssertEqual(marker.marker, pointer)
            XCTAssertEqual(marker.widget, widget)
            XCTAssertTrue(WebMarker.attached(to: widget) === marker)
            XCTAssertEqual(shumate_marker_get_child(pointer), marker.imageWidget)
            XCTAssertEqual(marker.latitude, TestMap.center.latitude)
            XCTAssertEqual(gtk_widget_get_focusable(widget), 0, "its properties stay")
            gtk_widget_set_size_request(marker.imageWidget, 20, 20)
            map.window.present()
            pump("the map") { marker.imageSlot.isOnScreen }
            let url = try fixture.url("red")
            try fixture.remember(.red, at: url)
            marker.setImage(url, manager: fixture.manager)
            XCTAssertEqual(drawnPixel(of: marker), Swatch.red.pixel)
        }
    }

    func testWrappingTwiceRetiresTheFirst() throws {
        try MainActor.assumeIsolated {
            let (fixture, map) = (PictureFixture(), TestMap())
            defer { map.close() }
            let first = makeMarker()
            map.show(first)
            let url = try fixture.url("red")
            first.setImage(url, manager: fixture.manager)
            let second = WebMarker(wrapping: first.marker)
            pump("the cancel") { fixture.loader.lastLoad(of: url)?.isCancelled == true }
            XCTAssertTrue(WebMarker.attached(to: first.widget) === second)
            try fixture.remember(.blue, at: url)
            second.setImage(url, manager: fixture.manager)
            XCTAssertEqual(drawnPixel(of: second), Swatch.blue.pixel)
            XCTAssertEqual(gtk_widget_get_parent(second.imageWidget), first.widget)
        }
    }
}
