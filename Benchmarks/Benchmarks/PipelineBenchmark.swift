import Dispatch
import Foundation
import WebImage

extension BenchmarkGroup {
    /// What the way from a request to its picture costs, with a loader and a decoder that take no time.
    static let pipeline = BenchmarkGroup(name: "pipeline") { table in
        print("Budgets: 10 µs a request with a loader that has the bytes, 1 µs a synchronous memory hit.")
        let sample = try PipelineSample(count: 2000)
        table.compare("requests, all different", budget: .microseconds(10), operationCount: 2000) {
            sample.load(sample.reloading)
        }
        table.compare("requests, all the same", budget: .microseconds(10), operationCount: 2000) {
            sample.load([WebImageRequest](repeating: sample.reloading[0], count: 2000))
        }
        table.compare("requests, from memory", budget: .microseconds(10), operationCount: 2000) {
            sample.load(sample.requests)
        }
        table.compare("started and cancelled", budget: .microseconds(10), operationCount: 2000) {
            sample.startAndCancel()
        }
        table.compare("memory, synchronously", budget: .microseconds(1), operationCount: 2000) {
            sample.lookUp(sample.requests)
        }
        table.compare("memory, a thumbnail, synchronously", budget: .microseconds(1), operationCount: 2000) {
            sample.lookUp(sample.thumbnails)
        }
    }
}

private struct PipelineSample {
    let manager: WebImageManager
    let requests: [WebImageRequest]
    let reloading: [WebImageRequest]
    let thumbnails: [WebImageRequest]

    init(count: Int) throws {
        let pixels = try MutablePixelBuffer(width: 1, height: 1)
        let image = Image(pixels: pixels.freeze(isOpaque: true))
        let cache = ImageCache(memory: MemoryCache(costLimit: 64 << 20), disk: nil)
        var configuration = WebImageManager.Configuration(cache: cache, loaders: [ReadyLoader()])
        configuration.codecs = CodecRegistry(decoders: [ReadyDecoder(image: image)], encoders: [])
        manager = WebImageManager(configuration: configuration)
        let urls = (0..<count).map { URL(string: "ready://127.0.0.1/pictures/\($0).jpg") }.compactMap(\.self)
        requests = urls.map { WebImageRequest($0) }
        reloading = urls.map { WebImageRequest($0, options: [.loaderOnly, .ignoreDiskCache]) }
        thumbnails = urls.map { WebImageRequest($0, thumbnail: Thumbnail(width: 320, height: 240)) }
        for request in requests + thumbnails { cache.memory.set(image, for: request.cacheKey, cost: 4) }
    }

    func load(_ requests: [WebImageRequest]) {
        let group = DispatchGroup()
        for request in requests {
            group.enter()
            manager.load(request) { result in
                guard case .success = result else { fatalError("a load failed") }
                group.leave()
            }
        }
        group.wait()
    }

    func startAndCancel() {
        let group = DispatchGroup()
        for request in reloading {
            group.enter()
            manager.load(request) { _ in group.leave() }.cancel()
        }
        group.wait()
    }

    func lookUp(_ requests: [WebImageRequest]) {
        for request in requests { precondition(manager.cachedImage(for: request) != nil, "a miss") }
    }
}

/// Has the bytes at once.
private final class ReadyLoader: ImageLoader {
    private final class EndedTask: LoaderTask {
        func cancel() {}
        func setPriority(_ priority: LoadPriority) {}
    }

    func canLoad(_ url: URL) -> Bool { url.scheme == "ready" }

    func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        handler(.response(LoaderResponse(url: request.url, expectedByteCount: 1)))
        handler(.bytes(Data([1])))
        handler(.finished(.success(())))
        return EndedTask()
    }
}

private struct ReadyDecoder: ImageDecoder {
    let format = ImageFormat(name: "ready", mimeType: "image/ready", fileExtension: "ready")
    let image: Image

    func canDecode(_ data: Data) -> Bool { true }
    func info(of data: Data) throws(WebImageError) -> ImageInfo {
        ImageInfo(format: format, size: image.pixels.size)
    }
    func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image { image }
}
