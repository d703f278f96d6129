import BenchmarkSupport
import Dispatch
import Foundation
import WebImage
import WebImageCore

extension BenchmarkGroup {
    /// The cost of a request from `async` code: time and processor time.
    static let requests = BenchmarkGroup(name: "async-pipeline") { table in
        print(
            """
            A request from async code, and its processor time. The yardsticks change threads as often as the requests must: of
            requests at once, a task with a continuation that another thread resumes; of requests one after the other, the same
            in one task; of PNGs, decoding alone; of requests from memory, a dictionary behind a lock; with the disk, the disk
            cache's own look-ups.
            """)
        let sample = try RequestSample(count: 5_000)
        let few = Array(sample.requests.prefix(1_000))
        let same = [WebImageRequest](repeating: sample.requests[0], count: sample.requests.count)
        table.compareTimes("all different, at once", count: sample.requests.count) {
            await load(sample.requests, with: sample.manager())
        } yardstick: {
            await resume(sample.requests.count)
        }
        table.compareTimes("one URL, at once", count: same.count) {
            await load(same, with: sample.manager())
        } yardstick: {
            await resume(same.count)
        }
        table.compareTimes("one after the other", count: few.count) {
            let manager = sample.manager()
            for request in few { await check(request, manager) }
        } yardstick: {
            for _ in few { await resumeOnce() }
        }
        table.compareTimes("8 × 8 PNGs, one after the other", count: few.count) {
            let manager = sample.managerOfPNGs()
            for request in few { await check(request, manager) }
        } yardstick: {
            for _ in few { precondition((try? CodecRegistry.shared.decode(sample.png)) != nil) }
        }
        let filled = sample.manager()
        let dictionary = LockBox([String: Image]())
        table.compareTimes("from memory, one after the other", count: sample.requests.count) {
            for request in sample.requests { await check(request, filled) }
        } yardstick: {
            for request in sample.requests {
                let key = request.url.absoluteString
                dictionary.withLock { images in
                    if images[key] == nil { images[key] = sample.image }
                }
            }
        }
        try BenchmarkFileSystem.all[0].withDirectory { directory in
            let disk = DiskCache(configuration: DiskCache.Configuration(directory: URL(filePath: directory)))
            let keys = sample.requests.map { $0.cacheKey.description }
            for key in keys { disk.store(Data(count: 2048), for: key) }
            disk.waitUntilWritten()
            table.compareTimes("from disk, at once", count: keys.count) {
                await load(sample.requests, with: sample.manager(disk: disk))
            } yardstick: {
                await withTaskGroup(of: Void.self) { group in
                    for key in keys { group.addTask { await check(key, disk) } }
                }
            }
            table.compareTimes("from disk, one after the other", count: keys.count) {
                let manager = sample.manager(disk: disk)
                for request in sample.requests { await check(request, manager) }
            } yardstick: {
                for key in keys { await check(key, disk) }
            }
        }
    }
}

extension BenchmarkTable {
    /// Compares times, and processor times.
    fileprivate func compareTimes(
        _ name: String, count: Int, ours: @escaping @Sendable () async -> Void,
        yardstick: @escaping @Sendable () async -> Void
    ) {
        compare(name, operationCount: count, roundCount: 7) {
            wait(for: ours)
        } yardstick: {
            wait(for: yardstick)
        }
        compareMeasured(name + " (processor)", operationCount: count, roundCount: 7) {
            processorTime { wait(for: ours) }
        } yardstick: {
            processorTime { wait(for: yardstick) }
        }
    }
}

private func wait(for body: @escaping @Sendable () async -> Void) {
    let end = DispatchSemaphore(value: 0)
    Task.detached {
        await body()
        end.signal()
    }
    end.wait()
}

private func processorTime(_ body: () -> Void) -> Duration {
    let start = ResourceUsage.current
    body()
    return (ResourceUsage.current - start).processor
}

// MARK: Requests

private func check(_ request: WebImageRequest, _ manager: WebImageManager) async {
    guard let image = try? await manager.image(for: request), image.pixels.width > 0 else {
        preconditionFailure("\(request.url) has no image")
    }
}

private func check(_ key: String, _ disk: DiskCache) async {
    guard await disk.data(for: key)?.count == 2048 else { preconditionFailure("\(key) is not on disk") }
}

private func load(_ requests: [WebImageRequest], with manager: WebImageManager) async {
    await withTaskGroup(of: Void.self) { group in
        for request in requests { group.addTask { await check(request, manager) } }
    }
}

// MARK: Yardsticks

private let resuming = DispatchQueue(label: "benchmark.resuming", attributes: .concurrent)

private func resumeOnce() async {
    await withUnsafeContinuation { continuation in resuming.async { continuation.resume() } }
}

private func resume(_ count: Int) async {
    await withTaskGroup(of: Void.self) { group in
        for _ in 0..<count { group.addTask { await resumeOnce() } }
    }
}

private struct RequestSample: Sendable {
    let image: Image
    let png: Data
    let requests: [WebImageRequest]

    init(count: Int) throws {
        image = Image(pixels: try MutablePixelBuffer(width: 1, height: 1).freeze(isOpaque: true))
        let square = Image(pixels: try MutablePixelBuffer(width: 8, height: 8).freeze(isOpaque: true))
        png = try CodecRegistry.shared.encode(square, as: .png)
        requests = (0..<count).compactMap { URL(string: "ready://127.0.0.1/images/\($0).jpg") }.map {
            WebImageRequest($0)
        }
    }

    /// A manager with an empty memory cache, whose loader has the bytes and whose decoder has the image.
    func manager(disk: DiskCache? = nil) -> WebImageManager {
        var configuration = WebImageManager.Configuration(
            cache: ImageCache(memory: MemoryCache(configuration: .images), disk: disk),
            loaders: [ReadyLoader(bytes: Data([1]))])
        configuration.codecs = CodecRegistry(decoders: [ReadyDecoder(image: image)], encoders: [])
        return WebImageManager(configuration: configuration)
    }

    func managerOfPNGs() -> WebImageManager {
        WebImageManager(
            configuration: WebImageManager.Configuration(
                cache: ImageCache(memory: MemoryCache(configuration: .images), disk: nil),
                loaders: [ReadyLoader(bytes: png)]))
    }
}

/// Has the bytes at once.
final class ReadyLoader: ImageLoader {
    private final class EndedTask: LoaderTask {
        func cancel() {}
        func setPriority(_ priority: LoadPriority) {}
    }

    private let bytes: Data

    init(bytes: Data) { self.bytes = bytes }

    func canLoad(_ url: URL) -> Bool { url.scheme == "ready" }

    func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        handler(.response(LoaderResponse(url: request.url, expectedByteCount: Int64(bytes.count))))
        handler(.bytes(bytes))
        handler(.finished(.success(())))
        return EndedTask()
    }
}

/// Has the image at once.
struct ReadyDecoder: ImageDecoder {
    let format = ImageFormat(name: "ready", mimeType: "image/ready", fileExtension: "ready")
    let image: Image

    func canDecode(_ data: Data) -> Bool { true }
    func info(of data: Data) throws(WebImageError) -> ImageInfo {
        ImageInfo(format: format, size: image.pixels.size)
    }
    func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image { image }
}
