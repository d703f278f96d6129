import BenchmarkReport
import CWebImageGTK
import Foundation
import WebImageGTK

/// A program that shows one photograph in a window and ends: how long it takes from its start until that is drawn.
@MainActor final class FirstPictureRun {
    enum Peer: String, CaseIterable {
        /// From a server, or from the disk cache if that has it.
        case ours
        /// `gtk_picture_set_filename`, before the window is shown.
        case filename
        /// An empty window.
        case nothing
    }

    private let peer: Peer
    private let source: String
    private let cache: String
    private var isLoaded = false
    private var drawn: Double?

    /// - Parameter arguments: who, the URL or the path, the folder of the disk cache.
    init(_ arguments: [String]) throws {
        guard arguments.count == 3, let peer = Peer(rawValue: arguments[0]) else {
            throw WrongResult(description: "first-picture PEER SOURCE CACHE")
        }
        (self.peer, source, cache) = (peer, arguments[1], arguments[2])
    }

    func figures() throws -> [String: Double] {
        MainLoop.install()
        let window = ObjectPointer(gtk_window_new())
        let picture = ObjectPointer(gtk_picture_new())
        gtk_widget_set_size_request(picture.widget, 512, 384)
        let asWindow = window.address.assumingMemoryBound(to: GtkWindow.self)
        gtk_window_set_child(asWindow, picture.widget)
        var manager: WebImageManager?
        switch peer {
        case .ours:
            let disk = DiskCache(
                configuration: DiskCache.Configuration(directory: URL(filePath: cache, directoryHint: .isDirectory)))
            manager = WebImageManager(
                configuration: WebImageManager.Configuration(
                    cache: ImageCache(memory: MemoryCache(costLimit: 64 << 20), disk: disk)))
            let view = WebPicture(wrapping: picture.widget)
            view.decodesAtDisplaySize = true
            view.contentMode = .scaleAspectFill
            view.onLoadStateChange = { [weak self] in if case .loaded = $0 { self?.isLoaded = true } }
            view.setImage(source, manager: manager ?? .shared)
        case .filename:
            gtk_picture_set_content_fit(picture.opaque, GTK_CONTENT_FIT_COVER)
            gtk_picture_set_filename(picture.opaque, source)
            isLoaded = true
        case .nothing:
            isLoaded = true
        }
        gtk_window_present(asWindow)
        let clock = gtk_widget_get_frame_clock(window.widget)
        clock.map { ObjectPointer($0) }?.onSignal("after-paint") { [weak self] in
            guard let self, drawn == nil, isLoaded, gtk_widget_get_mapped(picture.widget) != 0,
                gtk_widget_get_width(picture.widget) > 0
            else { return }
            drawn = Double(g_get_monotonic_time())
        }
        let deadline = g_get_monotonic_time() + 10_000_000
        while drawn == nil, g_get_monotonic_time() < deadline { g_main_context_iteration(nil, gboolean(1)) }
        guard let drawn else { throw WrongResult(description: "\(peer.rawValue): nothing was drawn") }
        if peer != .nothing, Photographs.number(drawnBy: picture.widget) != 5 {
            throw WrongResult(description: "\(peer.rawValue): the picture was not drawn")
        }
        // The server is asked once, what it sent is to be there the next time.
        if let disk = (manager?.configuration.cache as? ImageCache)?.disk {
            let isStored = DispatchSemaphore(value: 0)
            Task.detached {
                await disk.flush()
                isStored.signal()
            }
            isStored.wait()
        }
        return ["drawn": drawn]
    }
}
