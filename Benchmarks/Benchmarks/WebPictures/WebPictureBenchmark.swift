import Foundation
import Glibc
import WebImage
import WebImageTestSupport

extension BenchmarkGroup {
    /// The cold and the warm load of images as the web has them, from nginx to thumbnails of 320 by 240, beside
    /// `curl --parallel` (bytes alone), decoding alone (our decoders, on all processors) and aiohttp with Pillow, each
    /// in a process of its own.
    ///
    /// The budget of the cold load is 1.15 times the wall time of decoding alone and the processor time of curl alone
    /// on as many processors: what loading adds to what has to be done in any case. QUICK makes it short.
    static let webPictures = BenchmarkGroup(name: "web-pipeline") { _ in
        let isQuick = getenv("QUICK") != nil
        let pictures = try WebPictureSet(count: isQuick ? 200 : 2000)
        let server = try NGINXServer(
            root: pictures.directory.path,
            locations: "location / { access_log off; sendfile on; tcp_nopush on; open_file_cache max=4096; }")
        let comparison = try WebPictureComparison(pictures, baseURL: server.url("").absoluteString)
        for _ in 0..<(isQuick ? 1 : 3) { try comparison.round() }
        try comparison.print()
    }
}

/// A client that loads the images, or does a part of the work.
private enum PictureContender: String, CaseIterable {
    case cold = "ours, cold"
    case warm = "ours, from disk"
    case pixels = "ours, as pixels"
    case curl = "curl --parallel"
    case decoding = "decoding alone"
    case python = "aiohttp + Pillow"
}

private final class WebPictureComparison {
    private let pictures: WebPictureSet
    private let directory: TemporaryDirectory
    private let baseURL: String
    private var reports: [PictureContender: [ClientReport]] = [:]
    /// The downloader's default, and the others' too.
    private let connectionCount = ImageDownloader.Configuration().maximumConnectionsPerHost
    private let processorCount = PlatformThread.processorCount
    /// The results of the decoders, which all clients must match.
    private var expected: [PictureSample] = []
    private var largestDistance = 0

    init(_ pictures: WebPictureSet, baseURL: String) throws {
        self.pictures = pictures
        self.baseURL = baseURL
        directory = try TemporaryDirectory()
        let urls = pictures.names.map { "\(baseURL)/\($0)\n" }
        try directory.write(Data(urls.joined().utf8), to: "urls")
        let files = pictures.names.map { pictures.directory.appending(path: $0).path + "\n" }
        try directory.write(Data(files.joined().utf8), to: "files")
        let transfers = pictures.names.map { "url = \"\(baseURL)/\($0)\"\noutput = /dev/null\n" }
        try directory.write(Data(transfers.joined().utf8), to: "curl")
    }

    /// Everybody in turn: a busy moment of the machine meets all of them.
    func round() throws {
        let cache = directory.path("cache")
        if FileManager.default.fileExists(atPath: cache) { try FileManager.default.removeItem(atPath: cache) }
        try measure(.decoding, ours("decode", input: "files"))
        try measure(.cold, ours("load", cache, input: "urls"))
        try measure(.warm, ours("load", cache, input: "urls"))
        // The second load from disk has stored them.
        try measure(.pixels, ours("load", cache, input: "urls"))
        try measureCurl()
        try measure(
            .python,
            MeasuredProcess.run(
                ["/usr/bin/python3", WebPictureSet.script("aiohttp_pillow.py"), "\(connectionCount)"]
                    + ["\(WebPictureClient.thumbnail.size.width)", "\(WebPictureClient.thumbnail.size.height)"]
                    + [directory.path("result")],
                input: directory.path("urls")))
    }

    private func ours(_ mode: String, _ cache: String = "-", input: String) throws -> MeasuredProcess.Outcome {
        try MeasuredProcess.run(
            [try MeasuredProcess.sibling("Benchmarks"), WebPictureClient.flag, mode, cache, directory.path("result")],
            input: directory.path(input))
    }

    /// Takes what a process says of itself, and looks at what it has made.
    private func measure(_ contender: PictureContender, _ outcome: MeasuredProcess.Outcome) throws {
        guard outcome.status == 0, let report = ClientReport(line: outcome.output.prefix { $0 != "\n" }) else {
            throw WrongResult(description: "\(contender.rawValue) failed: \(outcome.output.prefix(500))")
        }
        let samples = try PictureSample.read(from: directory.url("result"))
        if contender == .decoding { expected = samples }
        guard samples.count == pictures.names.count, expected.count == samples.count else {
            throw WrongResult(description: "\(contender.rawValue) made \(samples.count) pictures")
        }
        for (index, (sample, wanted)) in zip(samples, expected).enumerated() {
            // Pillow has rules of its own for halves of a pixel, and filters; ours are the same pixels each time.
            let isPeer = contender == .python
            let distance = sample.distance(to: wanted)
            let difference = max(abs(sample.width - wanted.width), abs(sample.height - wanted.height))
            guard sample.width > 0, difference <= (isPeer ? 1 : 0), distance <= (isPeer ? 12 : 0) else {
                throw WrongResult(
                    description: "\(contender.rawValue): \(pictures.names[index]) is \(sample), not \(wanted)")
            }
            largestDistance = max(largestDistance, distance)
        }
        reports[contender, default: []].append(report)
    }

    private func measureCurl() throws {
        let outcome = try MeasuredProcess.run(
            ["curl", "--disable", "--no-progress-meter", "--fail", "--noproxy", "*", "--http1.1", "--parallel"]
                + ["--parallel-max", "\(connectionCount)", "--write-out", "%{size_download}\n"]
                + ["--config", directory.path("curl")])
        let sizes = outcome.output.split(separator: "\n").compactMap { Int($0) }
        guard outcome.status == 0, sizes.count == pictures.names.count, sizes.reduce(0, +) == pictures.byteCount else {
            throw WrongResult(description: "curl fetched \(sizes.count) of \(pictures.names.count) files")
        }
        reports[.curl, default: []].append(outcome.report)
    }

    // MARK: Printing

    func print() throws {
        Swift.print(
            "\(pictures.names.count) pictures, \(pictures.byteCount / 1_000_000) MB, from nginx on 127.0.0.1 to 320x240;",
            "\(connectionCount) connections, \(processorCount) processors:")
        let table = FigureTable(columns: ["client", "wall", "CPU", "peak RSS", "wall/picture", "ours, cold ×"])
        let cold = median(.cold) { $0.usage.wall / .milliseconds(1) }
        for contender in PictureContender.allCases {
            let wall = median(contender) { $0.usage.wall / .milliseconds(1) }
            let processor = median(contender) { $0.usage.processor / .milliseconds(1) }
            let peak = median(contender) { Double($0.peakByteCount) / 1_048_576 }
            table.row([
                contender.rawValue, "\(Int(wall)) ms", "\(Int(processor)) ms", "\(Int(peak)) MiB",
                "\(Int(wall * 1000 / Double(pictures.names.count))) µs", hundredths(cold / wall),
            ])
        }
        // Of each round by itself: the machine is as busy for all in it.
        let ratios = (reports[.cold] ?? []).indices.compactMap { round -> Double? in
            guard let cold = reports[.cold]?[round], let decoding = reports[.decoding]?[round],
                let curl = reports[.curl]?[round]
            else { return nil }
            return cold.usage.wall / (decoding.usage.wall + curl.usage.processor / processorCount)
        }
        Swift.print(
            "Cold, against decoding alone and curl's processor time on \(processorCount) processors:",
            "\(hundredths(ratios.sorted()[ratios.count / 2])) (budget 1.15).",
            "Sizes and colors compared in all rounds; Pillow's differ by \(largestDistance) of 255 at most.")
    }

    private func median(_ contender: PictureContender, _ figure: (ClientReport) -> Double) -> Double {
        let figures = (reports[contender] ?? []).map(figure).sorted()
        return figures[figures.count / 2]
    }

    private func hundredths(_ value: Double) -> String { "\((value * 100).rounded() / 100)" }
}
