import Dispatch
import FoundationEssentials
import ProgramSupport
import WebImageGTK

/// The facts of the photographs in the collection, read in the background while something needs them.
///
///     search opens ─► readMissing(): headers and sidecars, on a thread ─► facts, in groups ─► observers
///     change of a file ─► its facts are read again
@MainActor final class PhotoIndex {
    private(set) var facts: [URL: PhotoFacts] = [:]
    /// Whether the facts of all photographs are wanted.
    var isActive = false { didSet { if isActive, !oldValue { readMissing() } } }

    private let collection: PhotoCollection
    private var observers: [@MainActor (_ changed: Set<URL>) -> Void] = []
    private var cancellation = Cancellation()
    /// The photographs that wait for the thread.
    private var waiting: Set<URL> = []
    /// The number of the newest update of each photograph that is being read again.
    private var updates: [URL: Int] = [:]
    private var updateCount = 0
    private let read: @Sendable (URL, Cancellation) -> PhotoFacts
    private static let queue = DispatchQueue(label: "gallery-index", qos: .utility)
    /// How many facts are applied at once.
    private nonisolated static let groupSize = 128

    /// - Parameter read: reads a file, on a background thread; replaced in tests.
    init(
        of collection: PhotoCollection,
        read: @escaping @Sendable (URL, Cancellation) -> PhotoFacts = { PhotoFacts(of: $0, $1) }
    ) {
        (self.collection, self.read) = (collection, read)
        collection.observe { [weak self] in self?.collectionDidChange($0) }
    }

    /// Calls `body` after facts have become known, with the photographs.
    func observe(_ body: @escaping @MainActor (_ changed: Set<URL>) -> Void) { observers.append(body) }

    /// Reads facts again that are known or wanted, after a change of files or sidecars.
    func refresh(_ urls: Set<URL>) { update(urls.filter { isActive || facts[$0] != nil }) }

    /// Reads the facts of photographs now, before those that wait.
    func update(_ urls: Set<URL>) {
        guard !urls.isEmpty else { return }
        updateCount += 1
        for url in urls { updates[url] = updateCount }
        // What the thread has read of them, or reads, may be older.
        waiting.subtract(urls)
        read(Array(urls), update: updateCount)
    }

    /// Reads the facts of one photograph, unless they are known.
    func need(_ url: URL) {
        guard facts[url] == nil, url.isFileURL, waiting.insert(url).inserted else { return }
        read([url])
    }

    private func collectionDidChange(_ change: PhotoCollection.Change) {
        switch change {
        case .replaced:
            let kept = Set(collection.all)
            facts = facts.filter { kept.contains($0.key) }
            cancellation.cancel()
            (cancellation, waiting) = (Cancellation(), [])
            readMissing()
        case .rearranged, .appended: readMissing()
        case .content(let urls): refresh(urls)
        case .shapes, .dates: break
        }
    }

    /// How many photographs are still to be read.
    var leftCount: Int { waiting.count }

    private func readMissing() {
        guard isActive else { return }
        let missing = collection.all.filter { $0.isFileURL && facts[$0] == nil && !waiting.contains($0) }
        guard !missing.isEmpty else { return }
        waiting.formUnion(missing)
        read(missing)
    }

    /// - Parameter update: the number of an update; `nil` for photographs that wait for those before, whose reading ends with the collection.
    private func read(_ urls: [URL], update: Int? = nil) {
        let current = update == nil ? cancellation : Cancellation()
        let apply: @Sendable ([(URL, PhotoFacts)]) -> Void = { [weak self] found in
            MainLoop.callbackQueue.enqueue {
                MainActor.assumeIsolated { if !current.isCancelled { self?.apply(found, update) } }
            }
        }
        (update == nil ? Self.queue : DispatchQueue.files).async { [read] in
            var found: [(URL, PhotoFacts)] = []
            for url in urls {
                guard !current.isCancelled else { return }
                found.append((url, read(url, current)))
                if found.count == Self.groupSize {
                    apply(found)
                    found = []
                }
            }
            if !found.isEmpty { apply(found) }
        }
    }

    private func apply(_ found: [(URL, PhotoFacts)], _ update: Int?) {
        var changed: Set<URL> = []
        for (url, new) in found {
            if let update {
                guard updates[url] == update else { continue }
                updates[url] = nil
            } else {
                guard waiting.remove(url) != nil, updates[url] == nil else { continue }
            }
            facts[url] = new
            changed.insert(url)
        }
        for observer in observers { observer(changed) }
    }
}
