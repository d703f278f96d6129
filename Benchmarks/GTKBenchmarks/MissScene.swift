import BenchmarkReport
import CWebImageGTK
import Foundation
import WebImageGTK

/// Pictures that are not in memory: files, which a loader has to read and the pipeline to decode.
@MainActor final class MissScene {
    private let photographs: Photographs
    let count: Int
    private let cache = ImageCache(memory: MemoryCache(costLimit: .max), disk: nil)
    private let manager: WebImageManager
    private let ours: [WebPicture]
    private let yardstick = ObjectPointer(gtk_picture_new())
    private let urls: [URL]

    init(_ photographs: Photographs) throws {
        self.photographs = photographs
        let count = photographs.count
        self.count = count
        manager = WebImageManager(configuration: WebImageManager.Configuration(cache: cache, loaders: [FileLoader()]))
        ours = (0..<count).map { _ in WebPicture() }
        urls = (0..<count).map { URL(filePath: photographs.path(of: $0)) }
        for picture in ours { g_object_ref_sink(picture.widget) }
    }

    isolated deinit {
        for picture in ours { g_object_unref(picture.widget) }
        g_object_unref(g_object_ref_sink(yardstick.address))
    }

    /// What the main thread pays for all of them.
    ///
    /// - Returns: the processor's time in the calls of `setImage`, and afterwards until the pictures are set.
    func load() -> (start: Duration, set: Duration) {
        cache.memory.removeAll()
        for picture in ours { picture.prepareForReuse() }
        while g_main_context_iteration(nil, gboolean(0)) != 0 {}
        let thumbnail = Thumbnail(width: 128, height: 128, mode: .aspectFill)
        var endedCount = 0
        let start = ProcessFigures.mainThread
        for (picture, url) in zip(ours, urls) {
            picture.setImage(url, thumbnail: thumbnail, manager: manager, completion: { _ in endedCount += 1 })
        }
        let started = ProcessFigures.mainThread
        while endedCount < count { g_main_context_iteration(nil, gboolean(1)) }
        return (started - start, ProcessFigures.mainThread - started)
    }

    func setFilenames() -> Duration {
        let start = ProcessFigures.mainThread
        for number in 0..<count { gtk_picture_set_filename(yardstick.opaque, photographs.path(of: number)) }
        return ProcessFigures.mainThread - start
    }

    /// Each has its picture, and draws it.
    func verify() throws {
        _ = load()
        for (number, picture) in ours.enumerated() where picture.loadState != .loaded(.remote) || picture.image == nil {
            throw WrongResult(description: "photograph \(number) was not set: \(picture.loadState)")
        }
    }
}
