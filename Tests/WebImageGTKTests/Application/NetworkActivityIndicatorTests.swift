import CWebImageGTK
import XCTest

@testable import WebImageGTK

final class NetworkActivityIndicatorTests: GTKTestCase {
    func testTurnsWhileALoadThatAsksForItIsUnderWay() throws {
        try MainActor.assumeIsolated {
            let activity = NetworkActivity()
            let fixture = PictureFixture { $0.networkActivity = activity }
            let (window, picture) = (TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            guard let spinner = gtk_spinner_new() else { return XCTFail("no spinner") }
            window.add(spinner)
            NetworkActivityIndicator(spinner, of: activity)
            picture.setImage(try fixture.url("silent"), manager: fixture.manager)
            XCTAssertEqual(activity.count, 0)
            let url = try fixture.url("red")
            picture.setImage(url, options: .showNetworkActivity, manager: fixture.manager)
            pump("the spinner") { isSpinning(spinner) }
            XCTAssertEqual(activity.count, 1)
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("its rest") { !isSpinning(spinner) }
            XCTAssertNotNil(picture.image)
            // What memory has needs no network.
            picture.imageURL = nil
            picture.setImage(url, options: .showNetworkActivity, manager: fixture.manager)
            XCTAssertEqual(activity.count, 0)
        }
    }

    func testCountsForAllManagersUnlessToldOtherwise() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            guard let spinner = gtk_spinner_new() else { return XCTFail("no spinner") }
            window.add(spinner)
            NetworkActivityIndicator(spinner)
            picture.setImage(try fixture.url("red"), options: .showNetworkActivity, manager: fixture.manager)
            pump("the spinner") { isSpinning(spinner) }
            picture.cancelCurrentRequest()
            pump("its rest") { !isSpinning(spinner) }
        }
    }

    func testEndsWithItsSpinnerOrWithTheNextOne() {
        MainActor.assumeIsolated {
            let (window, activity) = (TestWindow(), NetworkActivity())
            guard let spinner = gtk_spinner_new() else { return XCTFail("no spinner") }
            window.add(spinner)
            NetworkActivityIndicator(spinner, of: NetworkActivity())
            weak let first = NetworkActivityIndicator.attached(to: spinner)
            XCTAssertNotNil(first)
            NetworkActivityIndicator(spinner, of: activity)
            weak let second = NetworkActivityIndicator.attached(to: spinner)
            pump("the first one's end") { first == nil }
            activity.increment()
            pump("the spinner") { isSpinning(spinner) }
            window.close()
            pump("the second one's end") { second == nil }
        }
    }
}

@MainActor private func isSpinning(_ spinner: UnsafeMutablePointer<GtkWidget>) -> Bool {
    gtk_spinner_get_spinning(OpaquePointer(spinner)) != 0
}
