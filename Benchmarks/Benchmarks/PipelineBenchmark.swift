import Dispatch
import Foundation
import WebImage
import WebImageCore

extension BenchmarkGroup {
    /// What the way from a request to its image costs, with a loader that has the bytes and a decoder that has the
    /// image.
    static let pipeline = BenchmarkGroup(name: "pipeline") { table in
        print(
            """
            Budgets: 10 µs a request with a loader that has the bytes, 20 µs with the disk, 1 µs a synchronous memory hit. The
            yardsticks are what no pipeline can do without: of the first rows, a change of threads to where callbacks run, and
            before it another to where pictures are decoded, each a closure on a Dispatch queue; with the disk, the disk
            cache's own look-ups, one after the other; of the last, a dictionary behind a lock, by the URL's text.
            """)
        let count = 2000
        let sample = try PipelineSample(count: count)
        let hops = Hops()
        try table.compare("requests, all different (10 µs)", operationCount: count) {
            try sample.load(sample.reloading, from: .remote)
        } yardstick: {
            hops.make(count, decoding: true)
        }
        try table.compare("requests, all the same (10 µs)", operationCount: count) {
            try sample.load([WebImageRequest](repeating: sample.reloading[0], count: count), from: .remote)
        } yardstick: {
            hops.make(count, decoding: false)
        }
        try table.compare("requests, from memory (10 µs)", operationCount: count) {
            try sample.load(sample.requests, from: .memoryCache)
        } yardstick: {
            hops.make(count, decoding: false)
        }
        try table.compare("requests, started and cancelled (10 µs)", operationCount: count) {
            try sample.startAndCancel(with: sample.manager)
        } yardstick: {
            hops.make(count, decoding: false)
        }
        try table.compare("the same, while the loader waits (10 µs)", operationCount: count) {
            try sample.startAndCancel(with: sample.waitingManager)
        } yardstick: {
            hops.make(count, decoding: false)
        }
        try table.compare("memory, synchronously (1 µs)", operationCount: count) {
            try sample.lookUp(sample.requests)
        } yardstick: {
            try sample.lookUpInDictionary(sample.requests)
        }
        try table.compare("memory, synchronously, a new request (1 µs)", operationCount: count) {
            try sample.lookUp(sample.requests.lazy.map { WebImageRequest($0.url) })
        } yardstick: {
            try sample.lookUpInDictionary(sample.requests.lazy.map { WebImageRequest($0.url) })
        }
        try table.compare("memory, a thumbnail, synchronously (1 µs)", operationCount: count) {
            try sample.lookUp(sample.thumbnails)
        } yardstick: {
            try sample.lookUpInDictionary(sample.thumbnails)
        }
        try BenchmarkFileSystem.all[0].withDirectory { directory in
            let sample = try PipelineSample(count: count, directory: directory)
            try table.compare("requests, from disk (20 µs)", operationCount: count) {
                sample.cache.memory.removeAll()
                try sample.load(sample.requests, from: .diskCache)
            } yardstick: {
                try sample.lookUpOnDisk()
            }
        }
    }
}

private struct PipelineSample {
    let manager: WebImageManager
    /// Its loader brings nothing before it is cancelled.
    let waitingManager: WebImageManager
    let cache: ImageCache
    let image: Image
    let requests: [WebImageRequest]
    let reloading: [WebImageRequest]
    let thumbnails: [WebImageRequest]
    private let dictionary: LockBox<[String: Image]>

    /// - Parameter directory: for a disk cache that has the bytes; without one, memory has the images.
    init(count: Int, directory: String? = nil) throws {
        let image = Image(pixels: try MutablePixelBuffer(width: 1, height: 1).freeze(isOpaque: true))
        let disk = directory.map { DiskCache(configuration: DiskCache.Configuration(directory: URL(filePath: $0))) }
        cache = ImageCache(memory: MemoryCache(costLimit: 64 << 20), disk: disk)
        var configuration = WebImageManager.Configuration(
            cache: cache, loaders: [ReadyLoader(bytes: Data([1]))])
        configuration.codecs = CodecRegistry(decoders: [ReadyDecoder(image: image)], encoders: [])
        manager = WebImageManager(configuration: configuration)
        configuration.loaders = [WaitingLoader()]
        waitingManager = WebImageManager(configuration: configuration)
        let urls = (0..<count).map { URL(string: "ready://127.0.0.1/pictures/\($0).jpg") }.compactMap(\.self)
        requests = urls.map { WebImageRequest($0) }
        reloading = urls.map { WebImageRequest($0, cachePolicy: .reload) }
        thumbnails = urls.map { WebImageRequest($0, thumbnail: Thumbnail(.pixels(width: 320, height: 240))) }
        self.image = image
        dictionary = LockBox([String: Image](uniqueKeysWithValues: urls.map { ($0.absoluteString, image) }))
        if let disk {
            for request in requests { disk.store(Data(count: 2048), for: request.cacheKey.description) }
            disk.waitUntilWritten()
        } else {
            for request in thumbnails { cache.memory.set(image, for: request.cacheKey, cost: 4) }
            // Loaded images have records of their responses, which a hit reads.
            try load(requests, from: .remote)
        }
    }

    /// Loads them all at once, and waits for them; each must bring the image, from `origin`.
    func load(_ requests: [WebImageRequest], from origin: ImageOrigin) throws {
        try countCallbacks(of: requests, with: manager) { [pixels = image.pixels] request, result in
            guard case .success(let response) = result else { return false }
            return response.image.pixels === pixels && response.origin == origin && response.url == request.url
        } start: { _ in
        }
    }

    /// One that has ended before it is cancelled counts as well.
    func startAndCancel(with manager: WebImageManager) throws {
        try countCallbacks(of: reloading, with: manager) { _, result in
            switch result {
            case .success: true
            case .failure(let error): error == .cancelled
            }
        } start: { operation in
            operation.cancel()
        }
    }

    private func countCallbacks(
        of requests: [WebImageRequest], with manager: WebImageManager,
        isRight: @escaping @Sendable (WebImageRequest, Result<WebImageResponse, WebImageError>) -> Bool,
        start: (WebImageOperation) -> Void
    ) throws {
        let (group, rightCount) = (DispatchGroup(), LockBox(0))
        for request in requests {
            group.enter()
            let operation = manager.load(request) { result in
                if isRight(request, result) { rightCount.withLock { $0 += 1 } }
                group.leave()
            }
            start(operation)
        }
        group.wait()
        try check(rightCount.withLock { $0 }, requests)
    }

    func lookUp(_ requests: some Collection<WebImageRequest>) throws {
        var rightCount = 0
        for request in requests where manager.cachedImage(for: request)?.pixels === image.pixels { rightCount += 1 }
        try check(rightCount, requests)
    }

    func lookUpInDictionary(_ requests: some Collection<WebImageRequest>) throws {
        var rightCount = 0
        for request in requests {
            let key = request.url.absoluteString
            if dictionary.withLock({ $0[key] })?.pixels === image.pixels { rightCount += 1 }
        }
        try check(rightCount, requests)
    }

    func lookUpOnDisk() throws {
        var rightCount = 0
        for request in requests where cache.disk?.blockingItem(for: request.cacheKey.description)?.data.count == 2048 {
            rightCount += 1
        }
        try check(rightCount, requests)
    }

    private func check(_ rightCount: Int, _ requests: some Collection<WebImageRequest>) throws {
        guard rightCount == requests.count else {
            throw WrongResult(description: "\(rightCount) right results of \(requests.count)")
        }
    }
}

/// Changes of threads, and nothing else.
private struct Hops {
    private let decoding = DispatchQueue(label: "benchmark.decoding", attributes: .concurrent)
    private let callbacks = DispatchQueue(label: "benchmark.callbacks")

    func make(_ count: Int, decoding isDecoding: Bool) {
        let group = DispatchGroup()
        for _ in 0..<count {
            group.enter()
            if isDecoding {
                decoding.async { [callbacks] in callbacks.async { group.leave() } }
            } else {
                callbacks.async { group.leave() }
            }
        }
        group.wait()
    }
}

/// Brings nothing, until it is cancelled.
private final class WaitingLoader: ImageLoader {
    private final class WaitingTask: LoaderTask {
        private let handler: LockBox<(@Sendable (LoaderEvent) -> Void)?>

        init(_ handler: @escaping @Sendable (LoaderEvent) -> Void) { self.handler = LockBox(handler) }

        func cancel() { handler.withLock { $0.take() }?(.finished(.failure(.cancelled))) }
        func setPriority(_ priority: LoadPriority) {}
    }

    func canLoad(_ url: URL) -> Bool { true }

    func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask { WaitingTask(handler) }
}
