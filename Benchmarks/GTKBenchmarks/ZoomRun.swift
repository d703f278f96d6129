import BenchmarkSupport
import CWebImageGTK
import Foundation
import GTKObjects
import WebImageGTK
import WebImageTestSupport

/// A ``ZoomView`` of 1,000 by 700 points that shows a large file, zooms in to 100 % at four places, moves there, and zooms out again, by a script.
@MainActor final class ZoomRun {
    private let file: URL
    private let seconds: Double
    private let window = ObjectPointer(gtk_window_new())
    private let view = ZoomView()
    private var failure: WebImageError?
    private var frames: [Double] = []

    /// - Parameter arguments: the file, seconds of movement at each place.
    init(_ arguments: [String]) throws {
        guard arguments.count == 2, let seconds = Double(arguments[1]) else {
            throw WrongResult(description: "zoom FILE SECONDS")
        }
        (file, self.seconds) = (URL(filePath: arguments[0]), seconds)
    }

    func figures() throws -> [String: Double] {
        MainLoop.install()
        let children = ChildMemory()
        defer { children.stop() }
        let start = g_get_monotonic_time()
        try show()
        let first = Double(g_get_monotonic_time() - start) / 1e6
        let ticker = FrameCall(widget: view.widget) { [weak self] in
            self?.frames.append(Double(g_get_monotonic_time()) / 1_000)
        }
        var settled: [Double] = []
        for place in [(0.2, 0.2), (0.8, 0.3), (0.3, 0.8), (0.9, 0.9)] { settled.append(try visit(place)) }
        ticker.stop()
        let times = zip(frames.dropFirst(), frames).map { $0 - $1 }
        return [
            "first": first, "settled": settled.max() ?? 0, "frames": Double(times.count),
            // A frame after the next one, at 60 a second.
            "late": Double(times.count { $0 > 25 }), "longest": times.max() ?? 0,
            "peak": ProcessFigures.peakMebibytes, "decoder": children.stop(), "detail": view.detail ?? 1,
        ]
    }

    private func show() throws {
        var request = WebImageRequest(file)
        var limits = DecodingLimits.default
        limits.pixelCount = 400_000_000
        limits.processorTime = .seconds(120)
        request.decodingLimits = limits
        request.loaders = [FileLoader(maximumByteCount: .max, readsInPlace: true)]
        let asWindow = window.address.assumingMemoryBound(to: GtkWindow.self)
        gtk_window_set_default_size(asWindow, 1_000, 700)
        gtk_window_set_child(asWindow, view.widget)
        gtk_window_present(asWindow)
        view.onDetailFailure = { [weak self] in self?.failure = $0 }
        view.setImage(request) { [weak self] result in
            if case .failure(let error) = result { self?.failure = error }
        }
        try wait("the image") {
            if case .loaded = view.loadState { view.imageSize != nil && !view.isBusy } else { false }
        }
    }

    /// Zooms in and moves, until all pixels are there.
    ///
    /// - Returns: the seconds from the end of the movement until then.
    private func visit(_ place: (x: Double, y: Double)) throws -> Double {
        let point = (x: place.x * 1_000, y: place.y * 700)
        view.setZoom(.scale(1), at: point, isAnimated: true)
        run(for: 0.3)
        let mover = FrameCall(widget: view.widget) { [view] in
            view.pan(x: place.x < 0.5 ? -8 : 8, y: place.y < 0.5 ? -5 : 5)
        }
        run(for: seconds)
        mover.stop()
        let end = g_get_monotonic_time()
        try wait("the tiles") { !view.isBusy }
        let settled = Double(g_get_monotonic_time() - end) / 1e6
        for _ in 0..<6 {
            view.zoomOut()
            run(for: 0.25)
        }
        view.setZoom(.fit, isAnimated: true)
        run(for: 0.3)
        return settled
    }

    private func run(for seconds: Double) {
        let end = g_get_monotonic_time() + gint64(seconds * 1e6)
        while g_get_monotonic_time() < end { g_main_context_iteration(nil, gboolean(1)) }
    }

    private func wait(_ what: String, until condition: () -> Bool) throws {
        let deadline = g_get_monotonic_time() + 60_000_000
        // Wakes the loop, also if nothing else does.
        let timer = g_timeout_add(100, { _ in gboolean(1) }, nil)
        defer { g_source_remove(timer) }
        while !condition() {
            if let failure { throw WrongResult(description: "\(what): \(failure)") }
            guard g_get_monotonic_time() < deadline else { throw WrongResult(description: "\(what): not in time") }
            g_main_context_iteration(nil, gboolean(1))
        }
    }
}

/// The maximum memory of a process among the descendants of this one: of a decoder process.
private final class ChildMemory: Sendable {
    private let figure = Figure()

    private final class Figure: @unchecked Sendable {
        private let lock = NSLock()
        private var most = 0.0
        private var isOver = false

        func add(_ value: Double) -> Bool {
            lock.withLock {
                most = max(most, value)
                return !isOver
            }
        }

        func end() -> Double {
            lock.withLock {
                isOver = true
                return most
            }
        }
    }

    init() {
        Thread.detachNewThread { [figure] in
            // The kernel forgets a process that has ended.
            while figure.add(Self.descendants().map(Self.peakMebibytes).max() ?? 0) { usleep(50_000) }
        }
    }

    /// - Returns: in MiB; 0 without such a process.
    @discardableResult func stop() -> Double { figure.end() }

    private static func field(_ name: String, of process: Int32) -> Int? {
        let status = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
        return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }
    }

    private static func peakMebibytes(of process: Int32) -> Double { Double(field("VmHWM", of: process) ?? 0) / 1_024 }

    private static func descendants() -> [Int32] {
        let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc"))?.compactMap { Int32($0) } ?? []
        let parents = Dictionary(uniqueKeysWithValues: processes.map { ($0, Int32(field("PPid", of: $0) ?? 0)) })
        return processes.filter { process in
            var ancestor = parents[process]
            while let current = ancestor, current > 1 {
                if current == getpid() { return true }
                ancestor = parents[current]
            }
            return false
        }
    }
}

extension BenchmarkGroup {
    /// Files of 100 and 215 megapixels, of two contents, with both renderers. libvips and libjxl's programs make the files.
    static func measureZoom(isQuick: Bool) throws {
        let directory = try TemporaryDirectory()
        let sizes = isQuick ? [(6_000, 4_000)] : [(12_300, 8_200), (17_000, 12_660)]
        let formats = isQuick ? ["jpg", "tif"] : ["jpg", "png", "tif", "jxl"]
        for (width, height) in sizes {
            for content in isQuick ? ["noise"] : ["noise", "waves"] {
                let megapixels = width * height / 1_000_000
                let table = FigureTable(columns: [
                    "Zooming, \(megapixels) MP of \(content)", "renderer", "first image", "tiles", "frames", "late",
                    "longest",
                    "app", "decoder", "pixels",
                ])
                let source = directory.path("source.v")
                try makeSource(content, width, height, at: source)
                // All pixels of the first are in memory: its late frames are the renderer's.
                let part = directory.path("part.v")
                try run("vips", ["crop", source, part, "0", "0", "2000", "1500"])
                for (label, input, format) in [("3 MP", part, "png")] + formats.map({ ($0, source, $0) }) {
                    let path = directory.path("image." + format)
                    try convert(input, to: path)
                    defer { unlink(path) }
                    for renderer in ["cairo", nil] {
                        let name = [label, renderer ?? "default"]
                        do {
                            let figures = try MeasuredPart.measure(
                                .zoom, [path, isQuick ? "0.5" : "2"], environment: ["GSK_RENDERER": renderer])
                            func figure(_ name: String) -> Double { figures[name] ?? -1 }
                            table.row(
                                name + [
                                    tenths(figure("first")) + " s", tenths(figure("settled")) + " s",
                                    "\(Int(figure("frames")))", "\(Int(figure("late")))",
                                    tenths(figure("longest")) + " ms",
                                    "\(Int(figure("peak"))) MiB", "\(Int(figure("decoder"))) MiB",
                                    tenths(figure("detail") * 100) + " %",
                                ])
                        } catch {
                            table.row(name + ["\(error)".split(separator: "\n").first.map(String.init) ?? ""])
                        }
                    }
                }
                for path in [source, part] { unlink(path) }
            }
        }
    }

    private static func makeSource(_ content: String, _ width: Int, _ height: Int, at path: String) throws {
        let arguments =
            content == "noise"
            ? ["perlin", path + ".v", "\(width)", "\(height)", "--cell-size", "64", "--uchar"]
            : ["sines", path + ".v", "\(width)", "\(height)", "--uchar", "--hfreq", "97", "--vfreq", "61"]
        try run("vips", arguments)
        defer { unlink(path + ".v") }
        // Three channels that differ.
        try run("vips", ["flip", path + ".v", path + ".h.v", "horizontal"])
        try run("vips", ["flip", path + ".v", path + ".w.v", "vertical"])
        try run("vips", ["bandjoin", "\(path).v \(path).h.v \(path).w.v", path])
        for end in [".h.v", ".w.v"] { unlink(path + end) }
    }

    private static func convert(_ source: String, to path: String) throws {
        switch (path as NSString).pathExtension {
        case "jpg": try run("vips", ["jpegsave", source, path, "--Q", "85"])
        case "png": try run("vips", ["pngsave", source, path, "--compression", "3"])
        case "tif":
            try run("vips", ["tiffsave", source, path, "--compression", "deflate", "--predictor", "horizontal"])
        default: try run("vips", ["jxlsave", source, path, "--effort", "3"])
        }
    }

    private static func run(_ program: String, _ arguments: [String]) throws {
        let outcome = try MeasuredProcess.run([program] + arguments)
        guard outcome.status == 0 else { throw WrongResult(description: "\(program) \(arguments[0]) failed") }
    }
}
