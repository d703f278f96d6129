import CWebImageGTK
import XCTest

/// The messages that GTK and its libraries log.
enum LibraryLog {
    /// Makes a failed assertion of these libraries fail the test that is running. Other messages go to standard error.
    ///
    /// GLib's own way, to end the process, does not suit `swift test`: the signal is that of a breakpoint, and the process continues after
    /// Swift's handler has printed a backtrace.
    static func failTestsOnAssertions() { installation }

    /// GLib accepts one function in the life of a process.
    private static let installation: Void = g_log_set_writer_func(
        { level, fields, count, data in
            guard level.rawValue & G_LOG_LEVEL_CRITICAL.rawValue != 0,
                let text = g_log_writer_format_fields(level, fields, count, 0)
            else { return g_log_writer_default(level, fields, count, data) }
            defer { g_free(text) }
            XCTFail(String(cString: text))
            return G_LOG_WRITER_HANDLED
        }, nil, nil)
}
