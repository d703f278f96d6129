import CWebImageGTK
import Dispatch
import GTKObjects
import XCTest

@testable import GTKTestSupport
@testable import WebImageGTK

/// Loads that continue in the background, and the application.
final class ApplicationHoldTests: GTKTestCase {
    func testALoadStartedOnAnotherThreadHoldsTheApplication() throws {
        try MainActor.assumeIsolated {
            let fixture = PictureFixture()
            let request = WebImageRequest(try fixture.url("red"), options: .continueInBackground)
            defer { Later.shared.call = nil }
            try runApplication { application in
                // As long as it takes to begin.
                g_application_hold(application.address.assumingMemoryBound(to: GApplication.self))
                DispatchQueue.global().async {
                    fixture.manager.load(request) { _ in }
                    ApplyQueue.main.enqueue {
                        MainActor.assumeIsolated {
                            let load = fixture.loader.lastLoad(of: request.url)
                            Later.shared.call = MainLoopCall.after(milliseconds: 50) { load?.answer(.red) }
                            g_application_get_default().map { g_application_release($0) }
                        }
                    }
                }
            }
            XCTAssertNotNil(fixture.manager.cachedImage(for: request), "the application waited for it")
        }
    }

    func testACustomHookReplacesTheHold() throws {
        try MainActor.assumeIsolated {
            let (begun, ended) = (LockBox(0), LockBox(0))
            let fixture = PictureFixture { configuration in
                configuration.beginBackgroundTask = { _ in
                    begun.withLock { $0 += 1 }
                    return { ended.withLock { $0 += 1 } }
                }
            }
            let url = try fixture.url("red")
            defer { Later.shared.call = nil }
            try runApplication { _ in
                let picture = WebPicture()
                picture.setImage(url, loadOptions: .continueInBackground, manager: fixture.manager)
                destroyUnparented(picture)
                // Should anything hold the application all the same.
                Later.shared.call = MainLoopCall.after(milliseconds: 5000) { fixture.manager.cancelAll() }
            }
            XCTAssertEqual(begun.withLock { $0 }, 1)
            XCTAssertEqual(ended.withLock { $0 }, 0, "the application ended before the load")
            fixture.manager.cancelAll()
            pump("the end") { ended.withLock { $0 } == 1 }
        }
    }
}

/// A call that outlives the body which makes it.
@MainActor private final class Later {
    static let shared = Later()
    var call: MainLoopCall?
}

final class ApplicationLifecycleTests: GTKTestCase {
    func testHidingTheLastWindowEmptiesMemory() throws {
        try MainActor.assumeIsolated {
            try runApplication { application in
                let fixture = PictureFixture()
                let lifecycle = ApplicationObserver(of: application.address, managers: [fixture.manager])
                let windows = [TestWindow(), TestWindow()]
                defer { for window in windows { window.close() } }
                for window in windows {
                    gtk_application_add_window(
                        application.address.assumingMemoryBound(to: GtkApplication.self), window.asWindow)
                    window.present()
                }
                pumpUntilIdle()
                XCTAssertTrue(lifecycle.isInForeground)
                try fixture.remember(.red, at: try fixture.url("red"))
                gtk_widget_set_visible(windows[0].window, gboolean(0))
                pumpUntilIdle()
                XCTAssertEqual(fixture.cache.memory.count, 1)
                var changes: [Bool] = []
                lifecycle.onChange = { changes.append($0) }
                gtk_widget_set_visible(windows[1].window, gboolean(0))
                pump("the background") { !lifecycle.isInForeground }
                XCTAssertEqual(fixture.cache.memory.count, 0)
                windows[0].present()
                pump("the foreground") { lifecycle.isInForeground }
                XCTAssertEqual(changes, [false, true])
            }
        }
    }

    func testLowMemoryHalvesCachesAndEmptiesThemWhenCritical() throws {
        try MainActor.assumeIsolated {
            let application = ObjectReference(
                owning: ObjectPointer(gtk_application_new(nil, G_APPLICATION_NON_UNIQUE)))
            let fixture = PictureFixture()
            let lifecycle = ApplicationObserver(of: application.pointer.address, managers: [fixture.manager])
            for number in 0..<20 { try fixture.remember(.red, at: try fixture.url("\(number)")) }
            lifecycle.memoryIsLow(level: 100)
            XCTAssertEqual(fixture.cache.memory.count, 10)
            lifecycle.memoryIsLow(level: 255)
            XCTAssertEqual(fixture.cache.memory.count, 0)
        }
    }

    func testFollowsTheDesktopsMemoryMonitor() throws {
        try MainActor.assumeIsolated {
            guard let monitor = g_memory_monitor_dup_default().map({ ObjectReference(owning: ObjectPointer($0)) })
            else {
                throw XCTSkip("GIO has no memory monitor here")
            }
            let application = ObjectReference(
                owning: ObjectPointer(gtk_application_new(nil, G_APPLICATION_NON_UNIQUE)))
            let fixture = PictureFixture()
            let lifecycle = ApplicationObserver(of: application.pointer.address, managers: [fixture.manager])
            try fixture.remember(.red, at: try fixture.url("red"))
            var values = [GValue(), GValue()]
            g_value_init(&values[0], g_memory_monitor_get_type())
            g_value_set_object(&values[0], monitor.pointer.address)
            g_value_init(&values[1], g_memory_monitor_warning_level_get_type())
            g_value_set_enum(&values[1], 255)
            g_signal_emitv(&values, g_signal_lookup("low-memory-warning", g_memory_monitor_get_type()), 0, nil)
            XCTAssertEqual(fixture.cache.memory.count, 0)
            for index in values.indices { g_value_unset(&values[index]) }
            withExtendedLifetime(lifecycle) {}
        }
    }
}

/// The views bring no style along and need none.
final class AdwaitaTests: GTKTestCase {
    func testPicturesAndButtonsWorkInALibadwaitaWindow() throws {
        let run = try ProgramRun("AdwaitaProbe")
        try XCTSkipIf(run.exitStatus == 77, "no libadwaita: install libadwaita-1-0")
        XCTAssertEqual(run.exitStatus, 0, run.errors)
        XCTAssertEqual(run.output, "picture 255 0 0 255\nbutton drawn shown\ndark true\nscale 1.0\n")
    }
}

final class NetworkActivityIndicatorTests: GTKTestCase {
    func testSpinsDuringALoadWithTheOption() throws {
        try MainActor.assumeIsolated {
            let activity = NetworkActivity()
            let fixture = PictureFixture { $0.networkActivity = activity }
            let (window, picture) = (TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            guard let spinner = gtk_spinner_new() else { return XCTFail("no spinner") }
            window.add(spinner)
            ImageIndicator.showNetworkActivity(in: spinner, of: activity)
            picture.setImage(try fixture.url("silent"), manager: fixture.manager)
            XCTAssertEqual(activity.count, 0)
            let url = try fixture.url("red")
            picture.setImage(url, loadOptions: .showNetworkActivity, manager: fixture.manager)
            pump("the spinner") { isSpinning(spinner) }
            XCTAssertEqual(activity.count, 1)
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("its rest") { !isSpinning(spinner) }
            XCTAssertNotNil(picture.image)
            // Images in memory need no network.
            picture.imageURL = nil
            picture.setImage(url, loadOptions: .showNetworkActivity, manager: fixture.manager)
            XCTAssertEqual(activity.count, 0)
        }
    }

    func testCountsForAllManagersByDefault() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, picture) = (PictureFixture(), TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            guard let spinner = gtk_spinner_new() else { return XCTFail("no spinner") }
            window.add(spinner)
            ImageIndicator.showNetworkActivity(in: spinner)
            picture.setImage(try fixture.url("red"), loadOptions: .showNetworkActivity, manager: fixture.manager)
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
            activity.change(by: 1)
            pump("the spinner") { isSpinning(spinner) }
            window.close()
            pump("the second one's end") { second == nil }
        }
    }
}

@MainActor private func isSpinning(_ spinner: UnsafeMutablePointer<GtkWidget>) -> Bool {
    gtk_spinner_get_spinning(OpaquePointer(spinner)) != 0
}
