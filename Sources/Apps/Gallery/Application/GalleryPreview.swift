public import CWebImageGTK
public import FoundationEssentials
import GTKObjects
import WebImageGTK

/// The Gallery's window on a folder, for benchmarks.
@MainActor public final class GalleryPreview {
    private let gallery: GalleryWindow

    /// Opens a folder.
    ///
    /// - Parameter isIsolated: whether photographs of all formats are decoded in other processes.
    public init(
        application: UnsafeMutablePointer<GtkApplication>, folder: String, cacheDirectory: URL, isIsolated: Bool
    ) {
        let session = GallerySession(cacheDirectory: cacheDirectory) {
            if isIsolated { $0.isolation = .allFormats }
        }
        gallery = GalleryWindow(
            application: ObjectPointer(application), session: session, size: PixelSize(width: 1280, height: 900))
        gallery.open([folder])
        gallery.present()
    }

    /// The window.
    public var window: UnsafeMutablePointer<GtkWidget> { gallery.widget.widget }

    /// The images that the grid draws now, for benchmarks.
    public var shownImageCount: Int {
        gallery.photos.grid.boundCells.count { $0.isOnScreen && $0.picture.image != nil }
    }

    /// Whether all images in sight have loaded.
    public var isSettled: Bool { gallery.isSettled }

    /// Scrolls by a distance in points.
    public func scroll(by distance: Double) {
        let grid = gallery.photos.grid
        grid.scroll(GTK_ORIENTATION_VERTICAL, to: grid.scrollPosition(GTK_ORIENTATION_VERTICAL) + distance)
    }
}
