import Dispatch
import FoundationEssentials
import ProgramSupport
import WebImageGTK

/// Keeps the collection as the folders that were opened are, and in the order of the settings.
///
///     FolderWatch ─┬─ content of files ─► caches forget them ─► collection.noteContent
///                  └─ names ────────────► read again ─► order ─► collection.rearrange
///
/// If the collection or the settings have changed meanwhile, the last step begins anew: no change is lost.
@MainActor final class FolderFollower {
    /// Called when folders are watched that were not before, or no longer.
    var onWatchChange: () -> Void = {}

    private let session: GallerySession
    private var places: [FollowedPlace] = []
    private var watch: FolderWatch?
    /// Whether folders have changed since they were read last.
    private var isStale = false
    private var work: Task<Void, Never>?
    /// Finds out whether folders have changed between their first reading and their watch.
    private var check: Task<Void, Never>?

    init(session: GallerySession) {
        self.session = session
        session.settings.observe(\.order) { [weak self] _ in self?.arrange() }
    }

    /// Whether images are being read or put into order.
    var isBusy: Bool { work != nil || check != nil }

    /// As ``URL/folder`` has them.
    var watchedFolders: Set<SystemString> { watch?.folders ?? [] }

    /// How many folders are not watched, because there are too many.
    var leftOutCount: Int { watch?.leftOutCount ?? 0 }

    /// Follows more folders, and all files of the collection that are elsewhere.
    ///
    /// - Parameter start: when their reading began. What has come into them since may not have been found.
    func follow(_ new: [FollowedPlace], readFrom start: Date) {
        for place in new {
            if let index = places.firstIndex(where: { $0.extent == place.extent }) {
                places[index] = place
            } else {
                places.append(place)
            }
        }
        let former = watchedFolders
        _ = watchFolders()
        // A reading in progress is of the former places.
        if isStale {
            arrange()
        } else {
            readAgain(ifChanged: Set(new.flatMap(\.folders)).subtracting(former), since: start)
        }
    }

    /// Reads all folders again if one has changed. Most have not, and a large tree takes long.
    private func readAgain(ifChanged folders: Set<SystemString>, since start: Date) {
        guard !folders.isEmpty else { return }
        let former = check
        check = Task { [weak self] in
            await former?.value
            // File systems note the time in steps of up to 2 s.
            let hasChanged = await DispatchQueue.files.run { cancellation in
                folders.contains { folder in
                    !cancellation.isCancelled
                        && (LocalFile.modified(URL(file: folder)).map { $0 > start - 2 } ?? true)
                }
            }
            guard !Task.isCancelled, let self else { return }
            check = nil
            guard hasChanged else { return }
            isStale = true
            arrange()
        }
    }

    func stop() {
        work?.cancel()
        check?.cancel()
        (places, watch, isStale, work, check) = ([], nil, false, nil, nil)
        onWatchChange()
    }

    /// Returns whether folders are watched that were not before.
    private func watchFolders() -> Bool {
        // Those without an image, too: the next image may be in them.
        var folders = Set(places.flatMap(\.folders))
        for url in session.collection.urls where url.isFileURL { folders.insert(url.folder) }
        let watch = watch ?? FolderWatch { [weak self] in self?.filesDidChange($0) }
        self.watch = watch
        defer { onWatchChange() }
        return watch.watch(folders)
    }

    /// - Parameter changed: the paths of files whose content has changed.
    private func filesDidChange(_ changed: Set<SystemString>) {
        let files = Set(changed.map { URL(file: $0) }.filter(session.collection.contains))
        if !files.isEmpty {
            Task { [session] in
                // Changes by the program itself are shown already.
                let files = await session.fileChanges.changedByOthers(files)
                guard !files.isEmpty else { return }
                for file in files { await session.removeImages(of: file) }
                session.collection.noteContent(of: files)
            }
        }
        isStale = true
        arrange()
    }

    /// Puts the images into the order of the settings, after folders that have changed were read again.
    func arrange() {
        let (urls, order) = (session.collection.urls, session.settings.values.order)
        let places = isStale ? places : nil
        // One image has a date, too.
        guard places != nil || !urls.isEmpty else { return }
        work?.cancel()
        work = Task { [weak self, reader = LocationReader(manager: session.manager)] in
            var reading: FollowedPlace.Reading?
            if let places { reading = await FollowedPlace.read(places, again: urls, reader) }
            let found = reading?.images ?? urls
            // Folders are read in the order of names.
            let arrangement =
                reading != nil && order == .name
                ? PhotoOrder.Arrangement(urls: found)
                : await DispatchQueue.files.run { cancellation in order.arranged(found, cancellation) }
            guard !Task.isCancelled, let self else { return }
            guard session.collection.urls == urls else { return arrange() }
            work = nil
            session.collection.rearrange(to: arrangement.urls)
            session.collection.noteDates(arrangement.dates)
            if let reading { didRead(reading) }
        }
    }

    private func didRead(_ reading: FollowedPlace.Reading) {
        // Others were added behind them at most: a reading ends with its places.
        for (index, place) in reading.places.enumerated() { places[index] = place }
        // A folder that cannot be read is read again after its next change.
        isStale = !reading.isComplete
        guard watchFolders() else { return }
        // Images may have come into new folders before they were watched.
        isStale = true
        arrange()
    }
}
