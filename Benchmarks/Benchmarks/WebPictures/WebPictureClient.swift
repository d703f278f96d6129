import Dispatch
import Foundation
import WebImage

/// A process of its own that makes thumbnails of images, and says what that cost from its first request on.
///
///     Benchmarks --web-pictures load CACHE-DIRECTORY RESULT-FILE <LIST-OF-URLS
///     Benchmarks --web-pictures decode - RESULT-FILE <LIST-OF-FILES
enum WebPictureClient {
    static let flag = "--web-pictures"
    static let thumbnail = Thumbnail(.pixels(width: 320, height: 240))

    static func runIfAsked(_ arguments: [String]) throws {
        guard arguments.count == 5, arguments[1] == flag else { return }
        var addresses: [String] = []
        while let line = readLine() { addresses.append(line) }
        let samples = LockBox([PictureSample](repeating: PictureSample(), count: addresses.count))
        let start = ResourceUsage.current
        var end = start
        if arguments[2] == "decode" {
            decode(addresses, into: samples)
            end = .current
        } else {
            let manager = manager(cacheDirectory: arguments[3])
            try load(addresses, with: manager, into: samples)
            end = .current
            let cache = manager.configuration.cache as? ImageCache
            cache?.disk?.waitUntilWritten()
            cache?.blockingFlushPixels()
            // Writes after the last image count, too.
            end.processor = ResourceUsage.current.processor
        }
        print(ClientReport(usage: end - start, peakByteCount: ResourceUsage.peakByteCount).line)
        try Data(samples.withLock { $0 }.flatMap(\.bytes)).write(to: URL(filePath: arguments[4]))
        exit(0)
    }

    /// As programs have it, but for the place of its files.
    private static func manager(cacheDirectory: String) -> WebImageManager {
        let directory = URL(filePath: cacheDirectory, directoryHint: .isDirectory)
        let disk = DiskCache(configuration: DiskCache.Configuration(directory: directory))
        var downloads = ImageDownloader.Configuration()
        downloads.proxy = .none
        return WebImageManager(
            configuration: WebImageManager.Configuration(
                cache: ImageCache(disk: disk), loaders: [ImageDownloader(configuration: downloads)]))
    }

    private static func load(
        _ addresses: [String], with manager: WebImageManager, into samples: LockBox<[PictureSample]>
    ) throws {
        let group = DispatchGroup()
        for (index, address) in addresses.enumerated() {
            guard let url = URL(string: address) else { throw WrongResult(description: "no URL: \(address)") }
            group.enter()
            manager.load(WebImageRequest(url, thumbnail: thumbnail)) { result in
                switch result {
                case .success(let response):
                    let sample = PictureSample(response.image.pixels)
                    samples.withLock { $0[index] = sample }
                case .failure(let error): print(error)
                }
                group.leave()
            }
        }
        group.wait()
    }

    /// On all processors, with nothing else.
    private static func decode(_ paths: [String], into samples: LockBox<[PictureSample]>) {
        DispatchQueue.concurrentPerform(iterations: paths.count) { index in
            do {
                let data = try Data(contentsOf: URL(filePath: paths[index]))
                let options = DecodingOptions(thumbnail: thumbnail, allowsDamage: false)
                let sample = PictureSample(try CodecRegistry.shared.decode(data, options: options).pixels)
                samples.withLock { $0[index] = sample }
            } catch {
                print(error)
            }
        }
    }
}

extension PictureSample {
    fileprivate init(_ pixels: PixelBuffer) {
        (width, height) = (pixels.width, pixels.height)
        colors = pixels.withUnsafeBytes { bytes in
            (0..<12).map { cell in
                let columns = cell % 4 * width / 4..<max(1, (cell % 4 + 1) * width / 4)
                let rows = cell / 4 * height / 3..<max(1, (cell / 4 + 1) * height / 3)
                var sum = SIMD4<UInt32>.zero
                for y in rows {
                    let row = y * pixels.bytesPerRow
                    for x in columns {
                        sum &+= SIMD4(
                            truncatingIfNeeded: bytes.loadUnaligned(
                                fromByteOffset: row + x * 4, as: SIMD4<UInt8>.self))
                    }
                }
                let count = UInt32(rows.count * columns.count)
                return SIMD4(truncatingIfNeeded: (sum &+ count / 2) / count)
            }
        }
    }
}
