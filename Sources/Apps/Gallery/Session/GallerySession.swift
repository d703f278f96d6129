import FoundationEssentials
import WebImageGTK

/// The objects that the window's parts share: the images, their loads, and the settings.
@MainActor final class GallerySession {
    let manager: WebImageManager
    let collection = PhotoCollection()
    let index: PhotoIndex
    let search: PhotoSearch
    let loads = LoadLog()
    let settings: GallerySettings
    let fileChanges = FileChangeQueue()
    private let history: UndoHistory
    /// Where removed files go; another place in tests.
    var trash = Trash()
    /// Shows a short message over the window, with a button if there is something to do about it.
    var onToast: (_ message: String, _ button: ToastButton?) -> Void = { _, _ in }

    /// Whether a message has said where stars and tags are kept.
    var hasSaidWhereMarksAre = false

    /// Called when files are back from the trash, and in the collection.
    var onReturn: (_ files: Set<URL>) -> Void = { _ in }

    /// The button of a message.
    struct ToastButton {
        /// With a mnemonic.
        let title: String
        /// The step that the button takes back or removes; with its end, the message goes.
        var step: UndoHistory.Step?
        let action: @MainActor () -> Void
    }

    /// - Parameters:
    ///   - cacheDirectory: the directory of the disk cache; `nil` for the program's default directory.
    ///   - configure: changes the manager's configuration.
    init(
        cacheDirectory: URL?, settings: GallerySettings = GallerySettings(),
        configure: (inout WebImageManager.Configuration) -> Void = { _ in }
    ) {
        self.settings = settings
        index = PhotoIndex(of: collection)
        search = PhotoSearch(collection, index)
        history = UndoHistory(fileChanges)
        var storage = DiskCache.Configuration()
        if let cacheDirectory { storage.directory = cacheDirectory }
        storage.sizeLimit = settings.values.diskByteLimit
        let cache = ImageCache(
            memory: MemoryCache(configuration: .images), disk: DiskCache(configuration: storage))
        cache.memory.costLimit = settings.values.memoryByteLimit
        settings.observe(\.memoryByteLimit) { cache.memory.costLimit = $0 }
        var downloads = ImageDownloader.Configuration()
        downloads.maximumConnections = settings.values.connections
        downloads.maximumConnectionsPerHost = settings.values.connectionsPerHost
        var configuration = WebImageManager.Configuration(cache: cache)
        configuration.loaders = [
            ImageDownloader(configuration: downloads), FileLoader.chosenFiles, DataURLLoader(),
        ]
        let log = loads.writer
        // The rows that are there are better than none.
        configuration.allowsDamage = true
        configuration.didFinish = { log.note($0, $1) }
        configuration.didAnswer = { log.note($0) }
        configure(&configuration)
        manager = WebImageManager(configuration: configuration)
        history.onFailure = { [weak self] step, reason in self?.showFailure(reason, ofUndoing: step) }
    }

    func showToast(_ message: String, _ button: ToastButton? = nil) { onToast(message, button) }

    /// Says what was done, with a button that takes it back, as ``undo()`` does.
    ///
    /// - Parameters:
    ///   - files: those that taking it back changes.
    ///   - byteCount: the length of what is kept for that.
    ///   - undo: takes it back, or what is left of it after a failure. Returns why something is left that can be tried
    ///     again.
    func showToast(
        _ message: String, of files: [URL], keeping byteCount: Int = 0, undo: @escaping @MainActor () async -> String?
    ) {
        let step = noteStep(of: files, keeping: byteCount, undo: undo)
        showToast(message, ToastButton(title: localized("_Undo"), step: step) { [history] in history.undo(step) })
    }

    /// Notes what was done, without a message: the window shows it.
    ///
    /// - Parameters: those of ``showToast(_:of:keeping:undo:)``.
    @discardableResult func noteStep(
        of files: [URL], keeping byteCount: Int = 0, undo: @escaping @MainActor () async -> String?
    ) -> UndoHistory.Step { history.add(of: files, byteCount: byteCount, undo) }

    /// Says why a step is not taken back, with a button that removes it: otherwise, it is before the others.
    private func showFailure(_ reason: String, ofUndoing step: UndoHistory.Step) {
        showToast(
            localized(
                "{reason} Ctrl+Z tries again.", ["reason": reason.hasSuffix(".") ? reason : reason + "."]),
            ToastButton(title: localized("_Forget"), step: step) { [history] in history.forget(step) })
    }

    /// Takes back what was done last, after the commands before have ended: until then, they have no step.
    func undo() {
        fileChanges.run([]) { [self] in if !history.undoLast() { showToast(localized("There is nothing to undo")) } }
    }

    /// Removes an image from memory and disk, at every size. Views keep what they show.
    func removeImages(of url: URL) async {
        await manager.removeImages(of: loads.record(of: url)?.cacheKey ?? manager.cacheKey(for: WebImageRequest(url)))
    }

    /// The manager's cache.
    var cache: ImageCache { manager.configuration.cache as? ImageCache ?? .shared }
}

extension GallerySession {
    /// What finds images, with hidden ones if the settings say so.
    var locationReader: LocationReader {
        var reader = LocationReader(manager: manager)
        reader.scanner.findsHidden = settings.values.showsHidden
        return reader
    }
}
