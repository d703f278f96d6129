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
        session.settings.observe(\.isReversed) { [weak self] _ in self?.arrange() }
        session.settings.observe(\.showsHidden) { [weak self] in self?.hiddenFilesDidChange($0) }
    }

    private func hiddenFilesDidChange(_ areShown: Bool) {
        // A reading takes no image away whose file is there.
        let collection = session.collection
        if !areShown {
            collection.rearrange(to: collection.all.filter { image in !places.contains { $0.hides(image) } })
        }
        isStale = true
        arrange()
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
        // Most images have the folder of the image before them, and a path takes microseconds.
        var known: Set<Substring> = []
        for url in session.collection.all where url.isFileURL {
            let text = url.absoluteString
            let start = text[..<(text.utf8.lastIndex(of: UInt8(ascii: "/")) ?? text.endIndex)]
            if known.insert(start).inserted { folders.insert(url.folder) }
        }
        let watch = watch ?? FolderWatch { [weak self] in self?.filesDidChange($0) }
        self.watch = watch
        defer { onWatchChange() }
        return watch.watch(folders)
    }

    /// - Parameter changed: the paths of files whose content has changed.
    private func filesDidChange(_ changed: Set<SystemString>) {
        let files = Set(changed.map { URL(file: $0) }.filter(session.collection.contains))
        // Other programs note stars and tags, too.
        let noted = Set(changed.compactMap(Sidecar.photo).filter(session.collection.contains))
        if !noted.isEmpty { session.index.refresh(noted) }
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
        let (urls, settings) = (session.collection.all, session.settings.values)
        let (order, isReversed) = (settings.order, settings.isReversed)
        let places = isStale ? places : nil
        // One image has a date, too.
        guard places != nil || !urls.isEmpty else { return }
        work?.cancel()
        work = Task { [weak self, reader = session.locationReader] in
            var reading: FollowedPlace.Reading?
            if let places { reading = await FollowedPlace.read(places, again: urls, reader) }
            let found = reading?.images ?? urls
            // Folders are read in the order of names.
            let arrangement =
                reading != nil && order == .name && !isReversed
                ? PhotoOrder.Arrangement(urls: found)
                : await DispatchQueue.files.run { cancellation in
                    order.arranged(found, isReversed: isReversed, cancellation)
                }
            guard !Task.isCancelled, let self else { return }
            guard session.collection.all == urls else { return arrange() }
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
