import FoundationEssentials
import WebImageGTK

/// The images in the grid, in order, with what is known about their shapes.
@MainActor final class PhotoCollection {
    /// What has changed.
    enum Change {
        /// Images were added at the end, or all are others.
        case items
        /// The shapes of some images are known now.
        case shapes
    }

    /// The URLs, in order.
    private(set) var urls: [URL] = []
    /// Width divided by height, for each image.
    private(set) var aspectRatios: [Float] = []
    private var knownShapes = RangeSet<Int>()
    private var observers: [@MainActor (Change) -> Void] = []

    /// The ratio of an image until its own is known: that of most cameras.
    static let usualAspectRatio: Float = 3 / 2

    var count: Int { urls.count }
    var isEmpty: Bool { urls.isEmpty }

    func observe(_ body: @escaping @MainActor (Change) -> Void) { observers.append(body) }

    /// Replaces all images.
    func replace(with newURLs: [URL]) {
        urls = newURLs
        aspectRatios = Array(repeating: Self.usualAspectRatio, count: newURLs.count)
        knownShapes = RangeSet()
        notify(.items)
    }

    /// Adds images at the end.
    func append(_ newURLs: [URL]) {
        guard !newURLs.isEmpty else { return }
        urls += newURLs
        aspectRatios += Array(repeating: Self.usualAspectRatio, count: newURLs.count)
        notify(.items)
    }

    /// Notes an image's ratio of width to height.
    func noteShape(of index: Int, width: Int, height: Int) {
        guard urls.indices.contains(index), width > 0, height > 0, !knownShapes.contains(index) else { return }
        knownShapes.insert(contentsOf: index..<index + 1)
        // Panoramas and long scrolls are cropped in the grid.
        let ratio = min(max(Float(width) / Float(height), 0.4), 3)
        guard abs(ratio - aspectRatios[index]) > 0.001 else { return }
        aspectRatios[index] = ratio
        notify(.shapes)
    }

    private func notify(_ change: Change) { for observer in observers { observer(change) } }
}
