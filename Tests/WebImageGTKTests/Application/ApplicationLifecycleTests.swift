import CWebImageGTK
import XCTest

@testable import WebImageGTK

final class ApplicationLifecycleTests: GTKTestCase {
    func testHidingTheLastWindowEmptiesMemory() throws {
        try MainActor.assumeIsolated {
            let application = ObjectReference(
                owning: ObjectPointer(gtk_application_new(nil, G_APPLICATION_NON_UNIQUE)))
            XCTAssertNotEqual(
                g_application_register(
                    application.pointer.address.assumingMemoryBound(to: GApplication.self), nil, nil),
                0)
            let fixture = PictureFixture()
            let lifecycle = ApplicationLifecycle(of: application.pointer.address, managers: [fixture.manager])
            let (first, second) = (TestWindow(), TestWindow())
            let gtkApplication = application.pointer.address.assumingMemoryBound(to: GtkApplication.self)
            for window in [first, second] {
                gtk_application_add_window(gtkApplication, window.asWindow)
                window.present()
            }
            pumpUntilIdle()
            XCTAssertTrue(lifecycle.isInForeground)
            try fixture.remember(.red, at: try fixture.url("red"))
            gtk_widget_set_visible(first.window, gboolean(0))
            pumpUntilIdle()
            XCTAssertEqual(fixture.cache.memory.count, 1)
            var changes: [Bool] = []
            lifecycle.onChange = { changes.append($0) }
            gtk_widget_set_visible(second.window, gboolean(0))
            pump("the background") { !lifecycle.isInForeground }
            XCTAssertEqual(fixture.cache.memory.count, 0)
            first.present()
            pump("the foreground") { lifecycle.isInForeground }
            XCTAssertEqual(changes, [false, true])
            first.close()
            second.close()
        }
    }

    func testLowMemoryHalvesCachesAndEmptiesThemWhenCritical() throws {
        try MainActor.assumeIsolated {
            let application = ObjectReference(
                owning: ObjectPointer(gtk_application_new(nil, G_APPLICATION_NON_UNIQUE)))
            let fixture = PictureFixture()
            let lifecycle = ApplicationLifecycle(of: application.pointer.address, managers: [fixture.manager])
            for number in 0..<20 { try fixture.remember(.red, at: try fixture.url("\(number)")) }
            lifecycle.memoryIsLow(level: 100)
            XCTAssertEqual(fixture.cache.memory.count, 10)
            lifecycle.memoryIsLow(level: 255)
            XCTAssertEqual(fixture.cache.memory.count, 0)
        }
    }

    func testHearsTheDesktopsMemoryMonitor() throws {
        try MainActor.assumeIsolated {
            guard let monitor = g_memory_monitor_dup_default().map({ ObjectReference(owning: ObjectPointer($0)) })
            else {
                throw XCTSkip("GIO has no memory monitor here")
            }
            let application = ObjectReference(
                owning: ObjectPointer(gtk_application_new(nil, G_APPLICATION_NON_UNIQUE)))
            let fixture = PictureFixture()
            let lifecycle = ApplicationLifecycle(of: application.pointer.address, managers: [fixture.manager])
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
    func testPicturesAndButtonsWorkInAWindowOfLibadwaita() throws {
        let run = try GalleryRun([], of: "AdwaitaProbe")
        try XCTSkipIf(run.exitStatus == 77, "no libadwaita: install libadwaita-1-0")
        XCTAssertEqual(run.exitStatus, 0, run.errors)
        XCTAssertEqual(run.output, "picture 255 0 0 255\nbutton normal shown\ndark true\nscale 1.0\n")
    }
}
