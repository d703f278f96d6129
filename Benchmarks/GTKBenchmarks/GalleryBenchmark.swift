import BenchmarkSupport
import CWebImageAdwaita
import CWebImageGTK
import Foundation
import Gallery
import GTKObjects
import WebImageGTK

/// The Gallery's own window: how long until its first image, and how smooth 10,000 local photographs are.
@MainActor final class GalleryRun {
    private let folder: String
    private let cacheDirectory: String
    private let seconds: Double
    private let isIsolated: Bool

    /// - Parameter arguments: the photographs' folder, the cache's, seconds of scrolling, whether other processes decode.
    init(_ arguments: [String]) throws {
        guard arguments.count == 4, let seconds = Double(arguments[2]), let isIsolated = Bool(arguments[3]) else {
            throw WrongResult(description: "gallery FOLDER CACHE SECONDS ISOLATED")
        }
        (folder, cacheDirectory, self.seconds, self.isIsolated) = (arguments[0], arguments[1], seconds, isIsolated)
    }

    /// Times from here to the first frame of an empty window, and from there to an image in the Gallery's.
    func figures() throws -> [String: Double] {
        adw_init()
        MainLoop.install()
        let application = ObjectPointer(adw_application_new(nil, G_APPLICATION_NON_UNIQUE))
        var error: UnsafeMutablePointer<GError>?
        guard g_application_register(application.address.assumingMemoryBound(to: GApplication.self), nil, &error) != 0
        else { throw WrongResult(description: error.takeMessage()) }
        var figures = ["empty": try timeOfEmptyWindow(application)]
        let start = g_get_monotonic_time()
        let preview = GalleryPreview(
            application: application.address.assumingMemoryBound(to: GtkApplication.self), folder: folder,
            cacheDirectory: URL(filePath: cacheDirectory), isIsolated: isIsolated)
        try wait("the first image") { preview.shownImageCount > 0 }
        figures["first"] = Double(g_get_monotonic_time() - start) / 1_000
        try wait("the images in sight", atMost: 60) { preview.isSettled }
        let scrolled = scroll(preview)
        figures.merge(scrolled) { $1 }
        try wait("the images after the scrolling", atMost: 60) { preview.isSettled }
        figures["anonymous"] = Self.anonymousMebibytes
        // GTK fades its scrollbar out within three seconds after the last scrolling; then nothing may run.
        run(for: 4)
        let before = ProcessFigures()
        run(for: min(seconds, 5))
        figures["idle"] = ProcessFigures().shares(since: before).all * 100
        return figures
    }

    private func timeOfEmptyWindow(_ application: ObjectPointer) throws -> Double {
        let start = g_get_monotonic_time()
        let window = ObjectPointer(
            adw_application_window_new(application.address.assumingMemoryBound(to: GtkApplication.self)))
        gtk_window_set_default_size(window.address.assumingMemoryBound(to: GtkWindow.self), 1280, 900)
        var frameCount = 0
        let ticker = FrameCall(widget: window.widget) { frameCount += 1 }
        gtk_window_present(window.address.assumingMemoryBound(to: GtkWindow.self))
        try wait("an empty window") { frameCount > 0 }
        ticker.stop()
        defer { gtk_window_destroy(window.address.assumingMemoryBound(to: GtkWindow.self)) }
        return Double(g_get_monotonic_time() - start) / 1_000
    }

    private func scroll(_ preview: GalleryPreview) -> [String: Double] {
        var frames: [Double] = []
        let ticker = FrameCall(widget: preview.window) {
            frames.append(Double(g_get_monotonic_time()) / 1_000)
            preview.scroll(by: 20)
        }
        run(for: seconds)
        ticker.stop()
        let times = zip(frames.dropFirst(), frames).map { $0 - $1 }
        return [
            "fps": Double(times.count) / (((frames.last ?? 0) - (frames.first ?? 0)) / 1_000),
            "late": Double(times.filter { $0 > 25 }.count) / Double(max(1, times.count)) * 100,
        ]
    }

    private func run(for seconds: Double) {
        let end = g_get_monotonic_time() + gint64(seconds * 1e6)
        // The timer wakes the loop at the end.
        let timer = g_timeout_add(UInt32(seconds * 1_000), { _ in 0 }, nil)
        while g_get_monotonic_time() < end { g_main_context_iteration(nil, 1) }
        _ = timer
    }

    private func wait(_ what: String, atMost seconds: Int = 20, until condition: () -> Bool) throws {
        let deadline = g_get_monotonic_time() + gint64(seconds) * 1_000_000
        while !condition() {
            guard g_get_monotonic_time() < deadline else { throw WrongResult(description: "\(what): not in time") }
            g_main_context_iteration(nil, 0)
        }
    }

    private static var anonymousMebibytes: Double {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
        return (line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Double($0) } ?? 0) / 1_024
    }
}

extension BenchmarkGroup {
    static func measureGallery(of photographs: Photographs, count: Int, cache: String, seconds: Double) throws {
        // Hard links: each has a URL of its own, and is decoded by itself.
        let folder = photographs.directory + "/many"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for number in 0..<count {
            link(photographs.path(of: number % photographs.count), folder + "/\(number).jpg")
        }
        let runs = try [false, true].map { isIsolated in
            try MeasuredPart.measure(.gallery, [folder, "\(cache)-\(isIsolated)", "\(seconds)", "\(isIsolated)"])
        }
        let table = FigureTable(
            columns: ["The Gallery, \(count) local photographs", "decoded in the app", "isolated", "goal"])
        func row(_ name: String, _ figure: String, _ goal: String, unit: String) {
            table.row([name] + runs.map { tenths($0[figure] ?? -1) + " " + unit } + [goal])
        }
        row("an empty AdwApplicationWindow: first frame", "empty", "", unit: "ms")
        table.row(
            ["first image after an empty window would be there"]
                + runs.map { tenths(($0["first"] ?? 0) - ($0["empty"] ?? 0)) + " ms" } + ["at most 150 ms"])
        row("frames a second while scrolling", "fps", "at least 58", unit: "fps")
        row("frames later than 25 ms", "late", "at most 1 %", unit: "%")
        row("anonymous memory", "anonymous", "at most 400 MiB", unit: "MiB")
        row("processor at rest", "idle", "0 %", unit: "%")
    }
}
