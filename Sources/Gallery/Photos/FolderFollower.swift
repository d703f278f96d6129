import FoundationEssentials
import Glibc
import WebImageGTK

/// Keeps the collection as the folders of its images are, and in the order of the settings.
///
///     FolderWatch ─┬─ content of files ─► caches forget them ─► collection.noteContent
///                  └─ names ────────────► read again ─► order ─► collection.rearrange
///
/// If the collection or the settings have changed meanwhile, the last step begins anew: no change is lost.
@MainActor final class FolderFollower {
    /// What is read again.
    enum Place: Sendable {
        /// The folder of a file, without those inside it.
        case folder(beside: URL)
        /// A location as the user gave it: a folder with those inside it.
        case location(String)
    }

    private let session: GallerySession
    private var place: Place?
    private var watch: FolderWatch?
    private var watchedFolders: Set<String> = []
    /// Whether the place has changed since it was read last.
    private var isStale = false
    private var work: Task<Void, Never>?

    init(session: GallerySession) {
        self.session = session
        session.settings.observe(\.order) { [weak self] _ in self?.arrange() }
    }

    /// Whether images are being read or put into order.
    var isBusy: Bool { work != nil }

    /// Follows the folders of the images of the collection, if all are files.
    func follow(_ place: Place) {
        stop()
        self.place = place
        watchFolders()
    }

    func stop() {
        work?.cancel()
        (place, watch, watchedFolders, isStale, work) = (nil, nil, [], false, nil)
    }

    private func watchFolders() {
        let files = session.collection.urls.filter(\.isFileURL)
        guard files.count == session.collection.count, !files.isEmpty else { return }
        var folders = Set(files.map { $0.deletingLastPathComponent().path(percentEncoded: false) })
        // New folders appear in it.
        if case .location(let location) = place, URL.remote(location) == nil,
            let path = LocationReader.path(of: location)
        {
            folders.insert(path)
        }
        // Those without an image are watched still: the next image may be in them.
        guard !folders.isSubset(of: watchedFolders) else { return }
        watchedFolders.formUnion(folders)
        watch = FolderWatch(watchedFolders) { [weak self] in self?.filesDidChange($0) }
    }

    /// - Parameter changed: the paths of files whose content has changed.
    private func filesDidChange(_ changed: Set<String>) {
        let files = Set(changed.map { URL(filePath: $0) }.filter(session.collection.contains))
        if !files.isEmpty {
            Task { [session] in
                // What the program has written is shown already.
                let files = await session.fileChanges.changedByOthers(files)
                guard !files.isEmpty else { return }
                for file in files { await session.removeImages(of: file) }
                session.collection.noteContent(of: files)
            }
        }
        isStale = true
        arrange()
    }

    /// Puts the images into the order of the settings, after a place that has changed was read again.
    func arrange() {
        let (urls, order) = (session.collection.urls, session.settings.values.order)
        let stalePlace = isStale ? place : nil
        guard stalePlace != nil || urls.count > 1 else { return }
        work?.cancel()
        work = Task { [weak self, reader = LocationReader(manager: session.manager)] in
            let found =
                if let stalePlace { await Self.images(at: stalePlace, and: urls, reader) } else { urls as [URL]? }
            let arrangement = await WorkQueue.files.run { cancellation -> PhotoOrder.Arrangement in
                // A folder that was removed cannot be read.
                let found = found ?? urls.filter { !Self.isMissing($0) }
                // Places are read in the order of names.
                return stalePlace != nil && order == .name
                    ? PhotoOrder.Arrangement(urls: found) : order.arranged(found, cancellation)
            }
            guard !Task.isCancelled, let self else { return }
            guard session.collection.urls == urls else { return arrange() }
            // A place that cannot be read is read again after its next change.
            (work, isStale) = (nil, found == nil)
            session.collection.rearrange(to: arrangement.urls)
            session.collection.noteDays(arrangement.days)
            if stalePlace != nil { watchFolders() }
        }
    }

    /// Whether there is no such file. A file system that does not answer has lost none.
    private nonisolated static func isMissing(_ url: URL) -> Bool {
        url.isFileURL && access(url.path(percentEncoded: false), F_OK) != 0 && [ENOENT, ENOTDIR].contains(errno)
    }

    /// Returns the images that a place has now; `nil` if it cannot be read.
    private static func images(at place: Place, and known: [URL], _ reader: LocationReader) async -> [URL]? {
        switch place {
        case .folder(let file): return await reader.images(beside: file, and: known)
        case .location(let location):
            let found = LockBox<[URL]>([])
            do throws(LocationReader.Failure) {
                try await reader.read(location) { urls in found.withLock { $0 += urls } }
            } catch .noImages {
                return []
            } catch {
                return nil
            }
            return found.withLock { $0 }
        }
    }
}
