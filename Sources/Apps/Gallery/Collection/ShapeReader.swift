import Dispatch
import FoundationEssentials
import WebImageGTK

/// Reads the sizes of local files from their headers, so that rows have their final shape before images are decoded.
///
/// Each group of images that is added to the collection is read once. A collection of other images ends the reading.
@MainActor final class ShapeReader {
    typealias Shape = PhotoCollection.Shape

    private let collection: PhotoCollection
    /// How many images were queued.
    private var queuedCount = 0
    private var cancellation = Cancellation()
    private static let queue = DispatchQueue(label: "gallery-shapes", qos: .utility)
    /// How many sizes are applied at once.
    private nonisolated static let groupSize = 256
    /// The parts of a file that are read, the second one if the first is not enough: the size is usually in its first few hundred bytes,
    /// but behind the thumbnail of a camera.
    private nonisolated static let byteCounts = [4 << 10, 64 << 10]

    private let readSize: @Sendable (URL) -> PixelSize?

    /// - Parameter readSize: reads the size of a file, on a background thread; replaced in tests.
    init(
        of collection: PhotoCollection, readSize: @escaping @Sendable (URL) -> PixelSize? = { ShapeReader.size(of: $0) }
    ) {
        (self.collection, self.readSize) = (collection, readSize)
        collection.observe { [weak self] in self?.collectionDidChange($0) }
    }

    private func collectionDidChange(_ change: PhotoCollection.Change) {
        switch change {
        case .replaced, .rearranged, .content:
            cancellation.cancel()
            (cancellation, queuedCount) = (Cancellation(), 0)
            readNewImages()
        case .appended: readNewImages()
        case .shapes, .dates: break
        }
    }

    private func readNewImages() {
        let files = (queuedCount..<collection.count)
            .filter { collection.urls[$0].isFileURL && !collection.isShapeKnown(of: $0) }
            .map { (index: $0, url: collection.urls[$0]) }
        queuedCount = collection.count
        guard !files.isEmpty else { return }
        let apply: @Sendable ([Shape]) -> Void = { [weak self] shapes in
            MainLoop.callbackQueue.enqueue { MainActor.assumeIsolated { self?.collection.noteShapes(of: shapes) } }
        }
        Self.queue.async { [cancellation, readSize] in
            var found: [Shape] = []
            for (index, url) in files {
                guard !cancellation.isCancelled else { return }
                if let size = readSize(url) { found.append(Shape(index: index, url: url, size: size)) }
                if found.count == Self.groupSize {
                    apply(found)
                    found = []
                }
            }
            if !found.isEmpty { apply(found) }
        }
    }

    private nonisolated static func size(of url: URL) -> PixelSize? {
        for byteCount in byteCounts {
            guard let data = LocalFile.prefix(url, byteCount: byteCount) else { return nil }
            if let info = try? CodecRegistry.shared.probe(data) { return info.size }
            if data.count < byteCount { return nil }
        }
        return nil
    }
}
