import FoundationEssentials
import ProgramSupport
import WebImageGTK

/// Locations to open, each after the other.
struct OpenRequest: Sendable {
    var list: LocationList?
    var locations: [String] = []
    /// Whether the images replace those in the collection. These stay until the first new ones are found.
    var replaces = true

    var isEmpty: Bool { list == nil && locations.isEmpty }

    /// Whether it is for one location in place of everything else. If that is an image, the viewer shows it.
    var isForOneLocation: Bool { replaces && list == nil && locations.count == 1 }
}

/// Opens locations, and puts their images into the collection as they are found.
///
///     open(request) ─► Reading ─► LocationReader ─► callback queue ─► still the current reading? ─► collection
///                                                                             one image? ─► viewer; its folder ─► collection
@MainActor final class LocationOpener {
    /// Called when ``isReading`` has changed.
    var onChange: () -> Void = {}
    /// Called when the only location of a request is an image, which is the only one of the collection then. The others in its
    /// folder follow.
    var onImage: () -> Void = {}
    /// Called at the end of a request of which some locations have no images: with the reason, and with those to try
    /// again.
    var onFailure: (_ reason: String, _ failed: OpenRequest) -> Void = { _, _ in }

    private let session: GallerySession
    /// The request that is being read.
    private(set) var current: Reading?
    /// Follows the folders that were opened, and keeps the images in order.
    let follower: FolderFollower
    /// Requests that add their images to those of the current one.
    private var waiting: [OpenRequest] = []

    /// The reading of a location for a request. It is dropped if another request has taken its place.
    @MainActor final class Reading {
        /// Whether the next images replace those in the collection.
        fileprivate var replaces: Bool
        /// Whether the images are added to those of other requests.
        fileprivate let isAddition: Bool
        fileprivate var imageCount = 0
        /// The only location, if that is an image.
        fileprivate var file: URL?
        fileprivate var task: Task<Void, Never>?
        fileprivate let start = Date()

        fileprivate init(_ request: OpenRequest) { (replaces, isAddition) = (request.replaces, !request.replaces) }
    }

    init(session: GallerySession) {
        self.session = session
        follower = FolderFollower(session: session)
    }

    /// Whether locations are being read.
    var isReading: Bool { current != nil }

    /// Opens locations. A request that replaces the images ends all former ones; others follow them.
    func open(_ request: OpenRequest) {
        guard !request.isEmpty else { return }
        if isReading, !request.replaces { return waiting.append(request) }
        stop()
        start(request)
        onChange()
    }

    /// Ends all requests, and follows no folder any longer.
    func cancel() {
        stop()
        follower.stop()
        onChange()
    }

    private func stop() {
        current?.task?.cancel()
        current = nil
        waiting = []
    }

    private func start(_ request: OpenRequest) {
        let reading = Reading(request)
        current = reading
        let report: @Sendable ([URL]) -> Void = { [weak self] urls in
            MainLoop.callbackQueue.enqueue { MainActor.assumeIsolated { self?.add(urls, of: reading) } }
        }
        // Not on the main thread, which makes the window when the program starts.
        reading.task = Task.detached { [weak self, reader = session.locationReader] in
            var failed = OpenRequest(locations: [])
            var reasons: [String] = []
            var places: [FollowedPlace] = []
            if let list = request.list {
                do { try await reader.read(list) { report($0.images) } } catch {
                    failed.list = list
                    reasons.append("\(error)")
                }
            }
            for location in request.locations where !Task.isCancelled {
                let folders = LockedBox<Set<SystemString>>([])
                do {
                    try await reader.read(location) { finding in
                        if let folder = finding.folder { folders.withLock { _ = $0.insert(folder) } }
                        report(finding.images)
                    }
                } catch {
                    failed.locations.append(location)
                    reasons.append("\(error)")
                }
                let read = folders.withLock { $0 }
                if !read.isEmpty { places.append(FollowedPlace(.tree(location: location), folders: read)) }
            }
            if request.isForOneLocation, let file = await self?.shownFile(of: reading, request.locations[0]) {
                let images = await reader.images(beside: file, and: [file])
                MainLoop.callbackQueue.enqueue { MainActor.assumeIsolated { self?.show(images, of: reading) } }
            }
            // After the images that were found last.
            MainLoop.callbackQueue.enqueue { [failed, reasons, places] in
                MainActor.assumeIsolated { self?.finish(reading, request, places, failed, reasons) }
            }
        }
    }

    private func add(_ urls: [URL], of reading: Reading) {
        guard reading === current, !urls.isEmpty else { return }
        reading.imageCount += urls.count
        if reading.replaces {
            follower.stop()
            session.collection.replace(with: urls)
        } else {
            // Dropped images may be in an open folder.
            session.collection.append(
                reading.isAddition ? urls.filter { !session.collection.contains($0) } : urls)
        }
        reading.replaces = false
    }

    /// Shows the only image that was found, unless it was found in a folder or a list; returns it if it is a file.
    private func shownFile(of reading: Reading, _ location: String) async -> URL? {
        await withCheckedContinuation { continuation in
            // After the images that were found.
            MainLoop.callbackQueue.enqueue {
                MainActor.assumeIsolated {
                    guard reading === self.current, reading.imageCount == 1,
                        let url = self.session.collection.all.first,
                        self.session.collection.all.count == 1,
                        !url.isFileURL || LocationReader.path(of: location).map({ URL(file: $0) }) == url
                    else { return continuation.resume(returning: nil) }
                    self.onImage()
                    if url.isFileURL { reading.file = url }
                    continuation.resume(returning: url.isFileURL ? url : nil)
                }
            }
        }
    }

    private func show(_ images: [URL], of reading: Reading) {
        guard reading === current, images.count > 1 else { return }
        session.collection.replace(with: images)
    }

    private func finish(
        _ reading: Reading, _ request: OpenRequest, _ places: [FollowedPlace], _ failed: OpenRequest,
        _ reasons: [String]
    ) {
        guard reading === current else { return }
        current = nil
        if let location = request.locations.first, request.list == nil, request.locations.count == 1, failed.isEmpty {
            session.settings.noteLocation(location)
            if let folder = reading.file?.folder ?? (places.isEmpty ? nil : LocationReader.path(of: location)) {
                session.settings.noteFolder(folder)
            }
        }
        if reading.replaces, session.collection.all.isEmpty { follower.stop() }
        // An empty folder does not join images that it should have replaced. These may be of a request that was ended
        // before it followed their folders.
        let joins = !reading.replaces || session.collection.all.isEmpty
        let new = reading.file.map { [FollowedPlace(beside: $0)] } ?? places
        follower.follow(joins ? new : [], readFrom: reading.start)
        let settings = session.settings.values
        if settings.order != .name || settings.isReversed { follower.arrange() }
        if !waiting.isEmpty { start(waiting.removeFirst()) }
        onChange()
        guard let first = reasons.first else { return }
        var failed = failed
        failed.replaces = reading.replaces
        onFailure(
            reasons.count == 1
                ? first
                : counted(
                    "{reason} (and {count} more)", "{reason} (and {count} more)", count: reasons.count - 1,
                    ["reason": first]), failed)
    }
}
