import BenchmarkSupport
import Dispatch
import Foundation
import WebImage
import WebImageShared
import WebImageTestSupport

extension BenchmarkGroup {
    /// Loads through a shared cache in Ceph's radosgw, beside the origin and the disk.
    static let shared = BenchmarkGroup(name: "shared") { table in
        guard S3Server.isInstalled else {
            print("  radosgw, ceph-mon and ceph-osd are not installed; Scripts/setup test installs them")
            return
        }
        let fleet = try BenchmarkFleet()
        try fleet.makeBucket()
        let count = 50
        let (near, store) = (fleet.origin.port, fleet.server.port)
        // Filled once, and read by machines with nothing of their own.
        let full = fleet.cache(store, prefix: "full")
        fleet.load(count, from: near, with: fleet.manager(full), flushing: full)
        table.compare(
            "hit in the shared cache, against an origin fetch and decode", operationCount: count, roundCount: 7
        ) {
            fleet.load(count, from: near, with: fleet.manager(full))
        } yardstick: {
            fleet.load(count, from: near, with: fleet.manager(nil))
        }
        guard full.counters.hits >= count * 7 else {
            throw WrongResult(description: "only \(full.counters.hits) hits: \(full.counters)")
        }
        let directory = try TemporaryDirectory()
        let disk = DiskCache(configuration: DiskCache.Configuration(directory: directory.url("disk")))
        fleet.load(count, from: near, with: fleet.manager(nil, disk: disk))
        table.compare("hit in the shared cache, against a disk hit", operationCount: count, roundCount: 7) {
            fleet.load(count, from: near, with: fleet.manager(full))
        } yardstick: {
            fleet.load(count, from: near, with: fleet.manager(nil, disk: disk), expecting: .diskCache)
        }
        table.compare(
            "hit, against curl for the same objects", yardstick: try fleet.curlTime(count), operationCount: count,
            roundCount: 7
        ) {
            fleet.load(count, from: near, with: fleet.manager(full))
        }

        let slowOrigin = try SlowProxy(to: near, milliseconds: 300)
        let slowStore = try SlowProxy(to: store, milliseconds: 10)
        var round = 0
        let few = 4
        let misses = fleet.cache(slowStore.port, prefix: "miss")
        // It finds out that misses are frequent.
        fleet.load(32, from: near, path: "/a", with: fleet.manager(misses), flushing: misses)
        table.compare("miss: origin of 300 ms, store of 10 ms (1.05)", operationCount: few, roundCount: 5) {
            round += 1
            fleet.load(few, from: slowOrigin.port, path: "/\(round)", with: fleet.manager(misses))
        } yardstick: {
            fleet.load(few, from: slowOrigin.port, with: fleet.manager(nil))
        }
        let dead = fleet.cache(try LoopbackRequest.unusedPort(), prefix: "dead")
        fleet.load(8, from: near, path: "/b", with: fleet.manager(dead))
        guard dead.counters.isInterrupted else { throw WrongResult(description: "the dead store is not left alone") }
        table.compare("miss while the store is left alone", operationCount: count, roundCount: 7) {
            fleet.load(count, from: near, with: fleet.manager(dead))
        } yardstick: {
            fleet.load(count, from: near, with: fleet.manager(nil))
        }
    }
}

private struct BenchmarkFleet {
    let server: S3Server
    let origin: NGINXServer

    init() throws {
        server = try S3Server()
        origin = try NGINXServer(
            locations:
                "location ~ ^/.*photo\\.jpg$ { add_header Cache-Control max-age=600; try_files /photo.jpg =404; }")
        let picture = try BenchmarkGroup.drawing(PixelSize(width: 320, height: 240))
        try origin.write(
            CodecRegistry.shared.encode(Image(pixels: picture), as: .jpeg), to: "photo.jpg")
    }

    private var credential: S3Credential { S3Credential(keyID: server.keyID, secret: server.secret) }

    private func location(_ port: Int, prefix: String) throws -> S3Location {
        try S3Location("s3://bench/\(prefix)?endpoint=http://127.0.0.1:\(port)")
    }

    /// The store's first writes take a second: it makes its pools then.
    func makeBucket() throws {
        for path in ["/bench", "/bench/warm", "/bench/warm"] {
            let process = Process()
            process.executableURL = URL(filePath: "/usr/bin/curl")
            process.arguments = curlArguments + ["-f", "-X", "PUT", "-d", "", "http://127.0.0.1:\(server.port)\(path)"]
            try process.run()
            process.waitUntilExit()
            guard process.terminationStatus == 0 else { throw WrongResult(description: "no bucket") }
        }
    }

    private var curlArguments: [String] {
        [
            "-s", "-o", "/dev/null", "--aws-sigv4", "aws:amz:us-east-1:s3", "-u", "\(server.keyID):\(server.secret)",
            // Of no body.
            "-H", "x-amz-content-sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        ]
    }

    /// The time for one object of those in the bucket, in one process that reads `count` times.
    func curlTime(_ count: Int) throws -> Duration {
        let list = Process()
        let output = Pipe()
        list.executableURL = URL(filePath: "/usr/bin/curl")
        list.arguments =
            Array(curlArguments.dropFirst(3)) + [
                "-s", "http://127.0.0.1:\(server.port)/bench?list-type=2&max-keys=1&prefix=full",
            ]
        list.standardOutput = output
        try list.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        list.waitUntilExit()
        guard let start = text.range(of: "<Key>"), let end = text.range(of: "</Key>") else {
            throw WrongResult(description: "an empty bucket: \(text)")
        }
        let url = "http://127.0.0.1:\(server.port)/bench/\(text[start.upperBound..<end.lowerBound])"
        let times = try (0..<5).map { _ in
            try ContinuousClock().measure {
                let process = Process()
                process.executableURL = URL(filePath: "/usr/bin/curl")
                process.arguments =
                    curlArguments.filter { $0 != "-o" && $0 != "/dev/null" }
                    + Array(repeating: url, count: count)
                process.standardOutput = FileHandle.nullDevice
                try process.run()
                process.waitUntilExit()
            }
        }
        return times.sorted()[2] / count
    }

    func cache(_ port: Int, prefix: String) -> SharedImageCache {
        guard let location = try? location(port, prefix: prefix) else { fatalError("no location") }
        var configuration = SharedImageCache.Configuration(location: location, credential: credential)
        // The machine may be busy with something else.
        configuration.budget.connect = .seconds(2)
        configuration.budget.firstByte = .seconds(5)
        return SharedImageCache(configuration)
    }

    /// A machine with nothing in memory.
    func manager(_ cache: SharedImageCache?, disk: DiskCache? = nil) -> WebImageManager {
        var configuration = WebImageManager.Configuration(
            cache: ImageCache(memory: MemoryCache(configuration: .images), disk: disk))
        if let cache { configuration.share(cache) }
        return WebImageManager(configuration: configuration)
    }

    /// One after the other.
    func load(
        _ count: Int, from port: Int, path: String = "", with manager: WebImageManager,
        flushing cache: SharedImageCache? = nil, expecting origin: ImageOrigin = .remote
    ) {
        let end = DispatchSemaphore(value: 0)
        Task.detached {
            for index in 0..<count {
                guard let url = URL(string: "http://127.0.0.1:\(port)\(path)/\(index)photo.jpg") else { continue }
                var request = WebImageRequest(url)
                request.cachePolicy = .http
                let response = try? await manager.response(for: request)
                guard response?.image.width == 320, response?.origin == origin else { fatalError("no image") }
            }
            await cache?.flush()
            end.signal()
        }
        end.wait()
    }
}
