import FoundationEssentials
import WebImageGTK

/// Shows only the photographs of the collection that meet a filter.
@MainActor final class PhotoSearch {
    var filter = SearchFilter() { didSet { if filter != oldValue { filterDidChange() } } }
    /// Called when the number of photographs that are found may have changed.
    var onChange: () -> Void = {}

    let collection: PhotoCollection
    let index: PhotoIndex
    private let scanner = FolderScanner()
    /// The names of photographs, which each key of the user compares.
    private var names: [URL: (text: SearchText, format: String?)] = [:]

    init(_ collection: PhotoCollection, _ index: PhotoIndex) {
        (self.collection, self.index) = (collection, index)
        index.observe { [weak self] _ in self?.factsDidChange() }
        collection.observe { [weak self] change in
            if change == .replaced { self?.names = [:] }
        }
    }

    /// Whether photographs are left out, or may be.
    var isActive: Bool { !filter.isEmpty }

    private func filterDidChange() {
        if isActive { index.isActive = true }
        apply()
    }

    private func factsDidChange() { if isActive { apply() } else { onChange() } }

    private func apply() {
        let filter = filter
        if filter.isEmpty {
            collection.filter(nil)
        } else {
            collection.filter { [weak self] url in self?.matches(url, filter) ?? true }
        }
        onChange()
    }

    private func matches(_ url: URL, _ filter: SearchFilter) -> Bool {
        let name = names[url] ?? (SearchText(url.displayName), scanner.format(ofFileNamed: url.lastPathComponent))
        names[url] = name
        return filter.matches(name: name.text, format: name.format, index.facts[url])
    }

    /// The endings of the formats in the collection, in order.
    var formats: [String] {
        Set(collection.all.compactMap { scanner.format(ofFileNamed: $0.lastPathComponent) }).sorted()
    }

    /// Such as `12 of 3,400 images`, for users.
    var resultText: String {
        let found = counted(
            "{found} of {count} image", "{found} of {count} images", count: collection.all.count,
            ["found": collection.count])
        guard index.leftCount > 0 else { return found }
        return [found, counted("{count} to read", "{count} to read", count: index.leftCount)].joined(separator: ", ")
    }
}
