import CWebImageGTK
import XCTest

@testable import WebImageGTK

/// A test that shows widgets; skipped where there is no display. `xvfb-run -a env GSK_RENDERER=cairo swift test` has one.
class GTKTestCase: XCTestCase {
    override func setUpWithError() throws {
        // Its result counts the first time only: later it says that GTK is initialised, display or not.
        _ = gtk_init_check()
        try XCTSkipIf(gdk_display_get_default() == nil, "no display: run under xvfb-run")
        // GTK's assertions end the run, as a failed test should.
        g_log_set_always_fatal(GLogLevelFlags(rawValue: G_LOG_LEVEL_ERROR.rawValue | G_LOG_LEVEL_CRITICAL.rawValue))
    }
}

/// Runs the main loop until `condition` holds; fails after 10 s, which is a safety net.
@MainActor func pump(
    _ what: String, file: StaticString = #filePath, line: UInt = #line, until condition: @MainActor () -> Bool
) {
    MainLoop.install()
    let deadline = Deadline()
    let timer = g_timeout_add_full(
        G_PRIORITY_HIGH, 10_000,
        { data in
            if let data { Unmanaged<Deadline>.fromOpaque(data).takeUnretainedValue().hasPassed = true }
            return gboolean(1)
        }, Unmanaged.passUnretained(deadline).toOpaque(), nil)
    defer { g_source_remove(timer) }
    while !condition(), !deadline.hasPassed { g_main_context_iteration(nil, gboolean(1)) }
    XCTAssertFalse(deadline.hasPassed, "never happened: \(what)", file: file, line: line)
}

/// Runs the main loop until it has nothing left to do but wait.
@MainActor func pumpUntilIdle() {
    var isIdle = false
    let call = MainLoopCall.whenIdle { isIdle = true }
    pump("idle") { isIdle }
    withExtendedLifetime(call) {}
    while g_main_context_iteration(nil, gboolean(0)) != 0 {}
}

private final class Deadline {
    var hasPassed = false
}
