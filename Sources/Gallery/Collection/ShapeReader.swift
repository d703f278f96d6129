import FoundationEssentials
import Glibc
import WebImageGTK

/// Reads the sizes of local files from their headers, so that rows have their final shape before images are decoded.
@MainActor final class ShapeReader {
    typealias Shape = PhotoCollection.Shape

    private let collection: PhotoCollection
    private var task: (any LoaderTask)?
    private static let queue = WorkQueue(label: "gallery.shapes", threadCount: 1, niceness: 10)
    /// How many files are read before their shapes are applied.
    private nonisolated static let groupSize = 256
    /// The part of a file that is read: the size is usually in its first few hundred bytes.
    private nonisolated static let byteLimit = 64 << 10

    init(of collection: PhotoCollection) {
        self.collection = collection
        collection.observe { [weak self] change in if change != .shapes { self?.restart() } }
    }

    private func restart() {
        task?.cancel()
        // In groups as the collection grows: the files read before are known already and cost little.
        let files = collection.urls.enumerated().filter { $1.isFileURL && !collection.knowsShape(of: $0) }
            .map { (index: $0, url: $1) }
        guard !files.isEmpty else { return }
        let apply: @Sendable ([Shape]) -> Void = { [weak self] shapes in
            ApplyQueue.main.enqueue { MainActor.assumeIsolated { self?.collection.noteShapes(of: shapes) } }
        }
        task = Self.queue.run(priority: .low) { cancellation in
            var found: [Shape] = []
            for (index, url) in files {
                guard !cancellation.isCancelled else { return }
                if let size = Self.size(of: url) { found.append(Shape(index: index, url: url, size: size)) }
                if found.count == Self.groupSize {
                    apply(found)
                    found = []
                }
            }
            if !found.isEmpty { apply(found) }
        }
    }

    private nonisolated static func size(of url: URL) -> PixelSize? {
        let descriptor = open(url.path(percentEncoded: false), O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: byteLimit)
        let count = read(descriptor, &bytes, bytes.count)
        guard count > 0 else { return nil }
        return (try? CodecRegistry.shared.probe(Data(bytes[..<count])))?.size
    }
}
