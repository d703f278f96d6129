import FoundationEssentials
import WebImageGTK

/// The images in the grid, in order, with what is known about their shapes.
@MainActor final class PhotoCollection {
    /// A change of the collection.
    enum Change: Equatable {
        /// All images are others.
        case replaced
        /// Some images have left, were added in between, or have other places.
        ///
        /// - formerPlaces: where each image was before; `nil` for new ones.
        case rearranged(formerPlaces: [Int?])
        /// Images were added at the end.
        case appended
        /// The shapes of some images are known now.
        case shapes
        /// The dates of some images are known now, or no longer wanted.
        case dates
        /// The files of some images have another content. What caches had of it is removed.
        case content(Set<URL>)
    }

    /// An image's size in pixels, and its place when it was read.
    struct Shape: Sendable {
        let index: Int
        let url: URL
        let size: PixelSize
    }

    /// All that are open, in order.
    private(set) var all: [URL] = []
    /// Those that are shown, in order: all of them, unless there is a filter.
    private(set) var urls: [URL] = [] { didSet { knownSections = nil } }
    private var isShown: (@MainActor (URL) -> Bool)?
    /// The ratios of images that the filter leaves out.
    private var hiddenRatios: [URL: Float] = [:]
    /// Width divided by height, for each image.
    private(set) var aspectRatios: [Float] = []
    private var knownShapes = RangeSet<Int>()
    /// The dates that the order is by, as `YYYY:MM:DD HH:MM:SS`; empty unless it is by date.
    private(set) var dates: [URL: String] = [:] { didSet { knownSections = nil } }
    /// Made when it is first needed.
    private var urlSet: Set<URL>?
    /// Each layout needs them, and they take a look-up for each image.
    private var knownSections: [(start: Int, day: String?)]?
    private var observers: [@MainActor (Change) -> Void] = []

    /// The ratio of an image until its own is known: that of most cameras.
    static let usualAspectRatio: Float = 3 / 2

    /// How many are shown.
    var count: Int { urls.count }
    /// Whether none is shown.
    var isEmpty: Bool { urls.isEmpty }

    func observe(_ body: @escaping @MainActor (Change) -> Void) { observers.append(body) }

    /// Replaces all images.
    func replace(with newURLs: [URL]) {
        all = newURLs
        urls = shown(newURLs)
        aspectRatios = Array(repeating: Self.usualAspectRatio, count: urls.count)
        knownShapes = RangeSet()
        (urlSet, hiddenRatios) = (nil, [:])
        dates = [:]
        notify(.replaced)
    }

    /// Shows the same images in another order, without some of them, or with others in between. What is known about their
    /// shapes stays.
    func rearrange(to newURLs: [URL]) {
        guard newURLs != all else { return }
        all = newURLs
        urlSet = nil
        // Images with other marks or another name may be shown no longer.
        show(shown(newURLs))
    }

    /// Shows only some of the images, of those that are added later, too; all of them for `nil`.
    func filter(_ isShown: (@MainActor (URL) -> Bool)?) {
        guard isShown != nil || self.isShown != nil else { return }
        self.isShown = isShown
        let new = shown(all)
        if new != urls { show(new) }
    }

    private func shown(_ urls: [URL]) -> [URL] { isShown.map { urls.filter($0) } ?? urls }

    private func show(_ newURLs: [URL]) {
        let places = Dictionary(zip(urls, urls.indices), uniquingKeysWith: { first, _ in first })
        let former = newURLs.map { places[$0] }
        let (ratios, known) = (aspectRatios, knownShapes)
        if isShown != nil {
            for index in urls.indices where known.contains(index) { hiddenRatios[urls[index]] = ratios[index] }
        }
        urls = newURLs
        aspectRatios = zip(newURLs, former).map { url, place in
            place.map { ratios[$0] } ?? hiddenRatios[url] ?? Self.usualAspectRatio
        }
        knownShapes = RangeSet()
        for (index, place) in former.enumerated()
        where place.map(known.contains) ?? (hiddenRatios[newURLs[index]] != nil) {
            knownShapes.insert(contentsOf: index..<index + 1)
        }
        if isShown == nil { hiddenRatios = [:] }
        notify(.rearranged(formerPlaces: former))
    }

    /// Adds images at the end.
    func append(_ newURLs: [URL]) {
        guard !newURLs.isEmpty else { return }
        all += newURLs
        urlSet?.formUnion(newURLs)
        let shown = shown(newURLs)
        urls += shown
        aspectRatios += Array(repeating: Self.usualAspectRatio, count: shown.count)
        notify(.appended)
    }

    /// Notes the dates of images, under whose days they are shown.
    func noteDates(_ newDates: [URL: String]) {
        guard newDates != dates else { return }
        dates = newDates
        notify(.dates)
    }

    /// The runs of images of the same day, as `YYYY:MM:DD`, by their first image, if dates are known. Images without one have no
    /// title.
    var sections: [(start: Int, day: String?)] {
        if let knownSections { return knownSections }
        let sections = dates.isEmpty ? [] : makeSections()
        knownSections = sections
        return sections
    }

    private func makeSections() -> [(start: Int, day: String?)] {
        var sections: [(start: Int, day: String?)] = []
        for (index, url) in urls.enumerated() {
            let day = dates[url].map { String($0.prefix(10)) }
            if sections.last.map({ $0.day != day }) ?? true { sections.append((index, day)) }
        }
        return sections
    }

    /// Notes that the files of some images have another content.
    func noteContent(of changed: Set<URL>) {
        for index in urls.indices where changed.contains(urls[index]) {
            knownShapes.remove(contentsOf: index..<index + 1)
        }
        for url in changed { hiddenRatios[url] = nil }
        notify(.content(changed))
    }

    /// Whether an image is open, also one that the filter leaves out.
    func contains(_ url: URL) -> Bool {
        let set = urlSet ?? Set(all)
        urlSet = set
        return set.contains(url)
    }

    func isShapeKnown(of index: Int) -> Bool { knownShapes.contains(index) }

    /// Notes an image's size in pixels.
    func noteShape(of index: Int, _ size: PixelSize) {
        guard urls.indices.contains(index) else { return }
        noteShapes(of: [Shape(index: index, url: urls[index], size: size)])
    }

    /// Notes the sizes of several images. Those that have left their place meanwhile are left out.
    func noteShapes(of shapes: [Shape]) {
        var hasChanged = false
        for shape in shapes where urls.indices.contains(shape.index) && urls[shape.index] == shape.url {
            let (index, size) = (shape.index, shape.size)
            guard size.width > 0, size.height > 0, !knownShapes.contains(index) else { continue }
            knownShapes.insert(contentsOf: index..<index + 1)
            // Panoramas and long strips are cropped in the grid.
            let ratio = min(max(Float(size.width) / Float(size.height), 0.4), 3)
            if abs(ratio - aspectRatios[index]) > 0.001 {
                aspectRatios[index] = ratio
                hasChanged = true
            }
        }
        if hasChanged { notify(.shapes) }
    }

    private func notify(_ change: Change) { for observer in observers { observer(change) } }
}
