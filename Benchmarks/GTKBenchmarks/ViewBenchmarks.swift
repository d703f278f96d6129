import BenchmarkSupport
import CWebImageGTK
import Foundation
import WebImageGTK
import WebImageTestSupport

extension BenchmarkGroup {
    /// What views cost the main thread (20 µs a bind), and how smooth a list of 100,000 images is (58 frames a
    /// second, at most 1 % of them later than 25 ms), beside what GTK and gdk-pixbuf do by themselves.
    ///
    /// - Parameter isQuick: fewer files, shorter runs.
    static func views(isQuick: Bool) -> [BenchmarkGroup] {
        let seconds = isQuick ? 0.8 : 8
        @Sendable func photographs(_ count: Int, in directory: TemporaryDirectory) throws -> Photographs {
            let photographs = Photographs(directory: directory.path("photographs"), count: count)
            try photographs.write()
            return photographs
        }
        return [
            BenchmarkGroup(name: "bind-views") { table in
                let directory = try TemporaryDirectory()
                try measureBinds(of: photographs(200, in: directory), in: table)
            },
            BenchmarkGroup(name: "busy-views") { _ in try measureBusyWindow() },
            BenchmarkGroup(name: "grid-views") { _ in
                let directory = try TemporaryDirectory()
                try measureGrid(
                    of: photographs(isQuick ? 300 : 2000, in: directory), seconds: seconds,
                    peers: isQuick ? [.ours, .pixbuf] : GridRun.Peer.allCases)
            },
            BenchmarkGroup(name: "warm-views") { _ in
                let directory = try TemporaryDirectory()
                try measureWarmGrid(
                    of: photographs(isQuick ? 50 : 500, in: directory), count: isQuick ? 600 : 3000,
                    in: directory.path("cache"))
            },
            BenchmarkGroup(name: "animation-views") { _ in
                try measureAnimations(
                    in: TemporaryDirectory(), seconds: seconds,
                    peers: isQuick ? [.files, .pixbuf] : AnimationRun.Peer.allCases)
            },
            BenchmarkGroup(name: "gallery-views") { _ in
                let directory = try TemporaryDirectory()
                try measureGallery(
                    of: photographs(isQuick ? 50 : 500, in: directory), count: isQuick ? 500 : 10_000,
                    cache: directory.path("cache"), seconds: seconds)
            },
            BenchmarkGroup(name: "zoom-views") { _ in try measureZoom(isQuick: isQuick) },
            BenchmarkGroup(name: "start-views") { _ in
                let directory = try TemporaryDirectory()
                try measureFirstPictures(of: photographs(6, in: directory), roundCount: isQuick ? 1 : 7)
            },
        ]
    }

    // MARK: An image

    private static func measureBinds(of photographs: Photographs, in table: BenchmarkTable) throws {
        try MainActor.assumeIsolated {
            let scene = try PictureScene(count: 200)
            let count = scene.requests.count * PictureScene.passCount
            table.compare(
                "bind, memory hit, ready texture", operationCount: count, ours: scene.setMemoryHits,
                yardstick: scene.setTextures)
            table.compare(
                "bind, memory hit, new texture", operationCount: count, ours: scene.setMemoryHits,
                yardstick: scene.setNewTextures)
            table.compare(
                "bind, memory hit", budget: .microseconds(20), operationCount: count, ours: scene.setMemoryHits)
            table.compare(
                "look a memory hit up", budget: .microseconds(1), operationCount: count, ours: scene.lookUp)
            try scene.verify()

            let misses = try MissScene(photographs)
            table.compareMeasured(
                "bind, miss: to start, gtk_picture_set_filename", operationCount: misses.count,
                ours: { misses.load().start }, yardstick: misses.setFilenames)
            table.compareMeasured(
                "bind, miss: to start (budget)", operationCount: misses.count, ours: { misses.load().start },
                yardstick: { .microseconds(20) * misses.count })
            table.compareMeasured(
                "bind, miss: to set later (budget)", operationCount: misses.count, ours: { misses.load().set },
                yardstick: { .microseconds(20) * misses.count })
            try misses.verify()
        }
    }

    // MARK: A busy window

    private static func measureBusyWindow() throws {
        try MainActor.assumeIsolated {
            let run = try BusyRun()
            defer { run.close() }
            let table = FigureTable(columns: ["\(BusyRun.count) decoded images", "ms on screen", "times"])
            let alone = run.medianTime() / .milliseconds(1)
            table.row(["in a window at rest", tenths(alone), tenths(1)])
            run.redrawAllTheTime()
            let beside = run.medianTime() / .milliseconds(1)
            table.row(["in one redrawn all the time (at most 1.5)", tenths(beside), tenths(beside / alone)])
        }
    }

    // MARK: A list

    private static func measureGrid(
        of photographs: Photographs, seconds: Double, peers: [GridRun.Peer]
    ) throws {
        try GridRun.fillCache(from: photographs)
        let table = FigureTable(columns: [
            "100,000 rows", "fps", "% over 25 ms", "CPU %", "main thread %", "binds/s", "µs a bind", "peak MiB",
        ])
        var rows: [(GridRun.Peer, [String: Double])] = []
        for peer in peers {
            let figures = try MeasuredPart.measure(
                .grid, [peer.rawValue, photographs.directory, "\(photographs.count)", "\(seconds)"])
            rows.append((peer, figures))
        }
        for step in ["20", "200"] {
            table.section("scrolled by \(step) points a frame")
            for (peer, figures) in rows {
                table.row(
                    [peer.name]
                        + ["fps", "late", "cpu", "main", "binds", "bind"].map { tenths(figures[$0 + step]) }
                        + [tenths(figures["peak"])])
            }
        }
    }

    private static func measureWarmGrid(of photographs: Photographs, count: Int, in directory: String) throws {
        try WarmGridRun.fill(directory, count: count, from: photographs)
        let table = FigureTable(columns: [
            "\(count) thumbnails as pixels", "ms to the window", "ms to the first screen (at most 60)", "fps",
            "% over 25 ms", "from disk", "decoded (0)", "peak MiB",
        ])
        for run in 1...3 {
            let figures = try MeasuredPart.measure(.warmGrid, [directory, "\(count)"])
            table.row(
                ["run \(run)"]
                    + ["present", "first", "fps", "late", "fromDisk", "decodes", "peak"].map { tenths(figures[$0]) })
        }
    }

    // MARK: Animations

    private static func measureAnimations(
        in directory: TemporaryDirectory, seconds: Double, peers: [AnimationRun.Peer]
    ) throws {
        let file = directory.path("film.gif")
        try AnimationRun.write(to: file)
        let table = FigureTable(columns: [
            "20 animations", "CPU %", "main thread %", "% shown", "% dropped", "peak MiB",
        ])
        for peer in peers {
            let figures = try MeasuredPart.measure(.animations, [peer.rawValue, file, "\(seconds)"])
            table.row([peer.name] + ["cpu", "main", "shown", "dropped", "peak"].map { tenths(figures[$0]) })
        }
    }

    // MARK: The start

    private static func measureFirstPictures(of photographs: Photographs, roundCount: Int) throws {
        let server = try NGINXServer(root: photographs.directory)
        let (url, path) = (try server.url("/5.jpg").absoluteString, photographs.path(of: 5))
        let table = FigureTable(columns: ["first picture", "ms from start", "ms, nothing", "difference"])
        var times: [String: [Double]] = [:]
        for _ in 0..<roundCount {
            let cache = try TemporaryDirectory()
            for (name, peer) in [
                ("cold, from a server", FirstPictureRun.Peer.ours), ("warm, from disk", .ours),
                ("set_filename", .filename), ("nothing", .nothing),
            ] {
                let start = Double(g_get_monotonic_time())
                let figures = try MeasuredPart.measure(
                    .firstPicture, [peer.rawValue, peer == .ours ? url : path, cache.path])
                times[name, default: []].append(((figures["drawn"] ?? 0) - start) / 1000)
            }
        }
        let medians = times.mapValues { $0.sorted()[$0.count / 2] }
        let nothing = medians["nothing"] ?? 0
        for name in ["cold, from a server", "warm, from disk", "set_filename"] {
            let time = medians[name] ?? 0
            table.row([name, tenths(time), tenths(nothing), tenths(time - nothing)])
        }
    }

    static func tenths(_ value: Double?) -> String { value.map { "\(($0 * 10).rounded() / 10)" } ?? "-" }
}

extension GridRun.Peer {
    fileprivate var name: String {
        switch self {
        case .ours: "ours"
        case .filename: "set_filename"
        case .pixbuf: "gdk-pixbuf at scale"
        case .ready: "64 ready textures"
        }
    }
}

extension AnimationRun.Peer {
    fileprivate var name: String {
        switch self {
        case .sameFile: "ours, one file"
        case .files: "ours, 20 files"
        case .pixbuf: "gdk-pixbuf"
        }
    }
}
