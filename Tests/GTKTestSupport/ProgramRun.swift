import Foundation
import XCTest

/// One run of a program that is built with the tests, in its own process.
struct ProgramRun {
    let exitStatus: Int32
    let output: String
    let errors: String

    /// - Parameters:
    ///   - program: its name; `nil` for the program of the tests, whose arguments name some of them.
    ///   - hasDisplay: `false` hides the display from it.
    ///   - hasBus: whether it has a session bus of its own, without services, instead of that of the tests.
    ///   - scale: pixels in a point.
    ///   - renderer: what GTK draws with, as `GSK_RENDERER` names it; `nil` is GTK's own choice.
    ///   - environment: variables that it has, or that replace those of the tests.
    init(
        _ program: String?, _ arguments: [String] = [], hasDisplay: Bool = true, hasBus: Bool = false, scale: Int = 1,
        renderer: String? = "cairo", environment changes: [String: String] = [:]
    ) throws {
        let process = Process()
        let tests = try XCTUnwrap(Bundle.main.executableURL)
        // SwiftPM puts programs beside the bundle of the tests.
        let executable = program.map { tests.deletingLastPathComponent().appendingPathComponent($0) } ?? tests
        process.executableURL = hasBus ? URL(filePath: "/usr/bin/dbus-run-session") : executable
        process.arguments =
            (hasBus ? ["--config-file=\(Self.busConfiguration)", "--", executable.path] : []) + arguments
        var environment = ProcessInfo.processInfo.environment.merging(changes) { $1 }
        environment["GSK_RENDERER"] = renderer
        environment["GDK_SCALE"] = "\(scale)"
        if !hasDisplay { for name in ["DISPLAY", "WAYLAND_DISPLAY"] { environment[name] = nil } }
        process.environment = environment
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        // A safety net: what hangs fails its test.
        let watchdog = DispatchWorkItem { process.terminate() }
        DispatchQueue.global().asyncAfter(deadline: .now() + 60, execute: watchdog)
        defer { watchdog.cancel() }
        // Both are short enough for a pipe, so one may wait for the other.
        self.output = Self.text(from: output)
        self.errors = Self.text(from: errors)
        process.waitUntilExit()
        exitStatus = process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
    }

    /// The path of the configuration of a session bus that starts no services, whatever is installed.
    static let busConfiguration = URL(filePath: #filePath).appending(path: "../../session-bus.conf").standardized.path

    private static func text(from pipe: Pipe) -> String {
        String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    }
}
