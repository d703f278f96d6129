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
            A request from async code, and its processor time. The yardstick is the least that a pipeline with an actor does: it
            looks into a dictionary behind a lock, joins or starts the load on the actor, decodes there, stores and resumes. It
            has no operations, costs, records of responses or traces, and cancels nothing. With the disk, the yardstick is the
            disk cache's own look-ups.
            """)
        let sample = try RequestSample(count: 5_000)
        let few = Array(sample.requests.prefix(1_000))
        let same = [WebImageRequest](repeating: sample.requests[0], count: sample.requests.count)
        let different = RequestSample.requests(count: 20_000)
        table.compareTimes("all different, at once", count: different.count) {
            await load(different, with: sample.manager())
        } yardstick: {
            await load(different, with: sample.peer())
        }
        table.compareTimes("one URL, at once", count: same.count) {
            await load(same, with: sample.manager())
        } yardstick: {
            await load(same, with: sample.peer())
        }
        let loading = DispatchQueue(label: "benchmark.loading")
        for (place, queue) in [("at once", nil), ("by another thread", loading)] {
            table.compareTimes("one after the other, answered \(place)", count: few.count) {
                let manager = sample.manager(answering: queue)
                for request in few { await check(request, manager) }
            } yardstick: {
                let peer = sample.peer(answering: queue)
                for request in few { await check(request, peer) }
            }
            table.compareTimes("8 × 8 PNGs, answered \(place)", count: few.count) {
                let manager = sample.managerOfPNGs(answering: queue)
                for request in few { await check(request, manager) }
            } yardstick: {
                let peer = sample.peer(answering: queue, decoding: true)
                for request in few { await check(request, peer) }
            }
        }
        let groups = few.prefix(100).map { [WebImageRequest](repeating: $0, count: 64) }
        table.compareTimes("64 joined, operations", count: groups.count * 64) {
            let gate = Gate()
            let manager = sample.manager(answering: loading, behind: gate)
            for requests in groups {
                let operations = requests.map { manager.load($0) }
                gate.open()
                for operation in operations {
                    guard let _ = try? await operation.response else { preconditionFailure("no response") }
                }
            }
        } yardstick: {
            let gate = Gate()
            let peer = sample.peer(answering: loading, behind: gate)
            for requests in groups {
                let tasks = requests.map { request in Task { await check(request, peer) } }
                gate.open()
                for task in tasks { await task.value }
            }
        }
        table.compareTimes("64 joined, tasks", count: groups.count * 64) {
            let gate = Gate()
            let manager = sample.manager(answering: loading, behind: gate)
            for requests in groups { await load(requests, with: manager, opening: gate) }
        } yardstick: {
            let gate = Gate()
            let peer = sample.peer(answering: loading, behind: gate)
            for requests in groups { await load(requests, with: peer, opening: gate) }
        }
        let filled = sample.manager()
        let filledPeer = sample.peer()
        table.compareTimes("from memory, one after the other", count: sample.requests.count) {
            for request in sample.requests { await check(request, filled) }
        } yardstick: {
            for request in sample.requests { await check(request, filledPeer) }
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

/// Brings the image of a request.
private protocol RequestedImages: Sendable {
    func image(for request: WebImageRequest) async throws(WebImageError) -> Image
}

extension WebImageManager: RequestedImages {}

private func check(_ request: WebImageRequest, _ images: some RequestedImages) async {
    guard let image = try? await images.image(for: request), image.pixels.width > 0 else {
        preconditionFailure("\(request.url) has no image")
    }
}

private func check(_ key: String, _ disk: DiskCache) async {
    guard await disk.data(for: key)?.count == 2048 else { preconditionFailure("\(key) is not on disk") }
}

/// - Parameter gate: opened by the last task, before it asks for its image.
private func load(
    _ requests: [WebImageRequest], with images: some RequestedImages, opening gate: Gate? = nil
) async {
    let left = LockBox(requests.count)
    await withTaskGroup(of: Void.self) { group in
        for request in requests {
            group.addTask {
                let isLast = left.withLock { left in
                    left -= 1
                    return left == 0
                }
                if isLast { gate?.open() }
                await check(request, images)
            }
        }
    }
}

// MARK: Yardstick

/// The least that a pipeline with an actor does.
private actor PlainPipeline: RequestedImages {
    private let loader: ReadyLoader
    private let decode: @Sendable (Data) -> Image?
    private var waiting: [URL: [CheckedContinuation<Image?, Never>]] = [:]
    private let images = LockBox<[URL: Image]>([:])

    init(_ loader: ReadyLoader, decode: @escaping @Sendable (Data) -> Image?) {
        (self.loader, self.decode) = (loader, decode)
    }

    nonisolated func image(for request: WebImageRequest) async throws(WebImageError) -> Image {
        let url = request.url
        if let image = images.withLock({ $0[url] }) { return image }
        guard let image = await load(url) else { throw .cancelled }
        return image
    }

    private func load(_ url: URL) async -> Image? {
        if let image = images.withLock({ $0[url] }) { return image }
        return await withCheckedContinuation { continuation in
            waiting[url, default: []].append(continuation)
            guard waiting[url]?.count == 1 else { return }
            let body = LockBox(Data())
            _ = loader.load(LoaderRequest(url: url), priority: .normal) { event in
                switch event {
                case .bytes(let bytes): body.withLock { $0 += bytes }
                case .finished: Task { await self.finish(url, body.withLock { $0 }) }
                default: break
                }
            }
        }
    }

    private func finish(_ url: URL, _ data: Data) {
        let image = decode(data)
        images.withLock { $0[url] = image }
        for continuation in waiting.removeValue(forKey: url) ?? [] { continuation.resume(returning: image) }
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
        requests = Self.requests(count: count)
    }

    static func requests(count: Int) -> [WebImageRequest] {
        (0..<count).compactMap { URL(string: "ready://127.0.0.1/images/\($0).jpg") }.map { WebImageRequest($0) }
    }

    /// A manager with an empty memory cache, whose loader has the bytes and whose decoder has the image.
    func manager(
        disk: DiskCache? = nil, answering queue: DispatchQueue? = nil, behind gate: Gate? = nil
    ) -> WebImageManager {
        var configuration = WebImageManager.Configuration(
            cache: ImageCache(memory: MemoryCache(configuration: .images), disk: disk),
            loaders: [ReadyLoader(bytes: Data([1]), answering: queue, behind: gate)])
        configuration.codecs = CodecRegistry(decoders: [ReadyDecoder(image: image)], encoders: [])
        return WebImageManager(configuration: configuration)
    }

    func managerOfPNGs(answering queue: DispatchQueue?) -> WebImageManager {
        WebImageManager(
            configuration: WebImageManager.Configuration(
                cache: ImageCache(memory: MemoryCache(configuration: .images), disk: nil),
                loaders: [ReadyLoader(bytes: png, answering: queue)]))
    }

    /// - Parameter isDecoding: whether it has PNGs, which it decodes.
    func peer(
        answering queue: DispatchQueue? = nil, behind gate: Gate? = nil, decoding isDecoding: Bool = false
    ) -> some RequestedImages {
        PlainPipeline(
            ReadyLoader(bytes: isDecoding ? png : Data([1]), answering: queue, behind: gate)
        ) { [image] data in isDecoding ? try? CodecRegistry.shared.decode(data) : image }
    }
}

/// Lets one answer pass each time it is opened, before or afterwards.
final class Gate: Sendable {
    private let state = LockBox<(isOpen: Bool, answer: (@Sendable () -> Void)?)>((false, nil))

    func open() { meet { $0.isOpen = true } }

    func pass(_ answer: @escaping @Sendable () -> Void) { meet { $0.answer = answer } }

    private func meet(_ change: (inout (isOpen: Bool, answer: (@Sendable () -> Void)?)) -> Void) {
        let answer = state.withLock { state -> (@Sendable () -> Void)? in
            change(&state)
            guard state.isOpen, let answer = state.answer else { return nil }
            state = (false, nil)
            return answer
        }
        answer?()
    }
}

/// Has the bytes at once.
final class ReadyLoader: ImageLoader {
    private final class EndedTask: LoaderTask {
        func cancel() {}
        func setPriority(_ priority: LoadPriority) {}
    }

    private let bytes: Data
    private let queue: DispatchQueue?
    private let gate: Gate?

    /// - Parameters:
    ///   - queue: where it answers; `nil` for within the call.
    ///   - gate: what the answers pass first.
    init(bytes: Data, answering queue: DispatchQueue? = nil, behind gate: Gate? = nil) {
        (self.bytes, self.queue, self.gate) = (bytes, queue, gate)
    }

    func canLoad(_ url: URL) -> Bool { true }

    func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        let answer: @Sendable () -> Void = { [bytes] in
            handler(.response(LoaderResponse(url: request.url, expectedByteCount: Int64(bytes.count))))
            handler(.bytes(bytes))
            handler(.finished(.success(())))
        }
        let send: @Sendable () -> Void = { [queue] in if let queue { queue.async(execute: answer) } else { answer() } }
        if let gate { gate.pass(send) } else { send() }
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
