package import CWebImageGTK
package import FoundationEssentials
import WebImageGTK

/// The Gallery's window on a folder, for benchmarks.
@MainActor package final class GalleryPreview {
    private let gallery: GalleryWindow

    /// - Parameter isIsolated: whether photographs of all formats are decoded in other processes.
    package init(
        application: UnsafeMutablePointer<GtkApplication>, folder: String, cacheDirectory: URL, isIsolated: Bool
    ) {
        let session = GallerySession(cacheDirectory: cacheDirectory) {
            if isIsolated { $0.isolation = .allFormats }
        }
        gallery = GalleryWindow(
            application: ObjectPointer(application), session: session, size: PixelSize(width: 1280, height: 900))
        gallery.present()
        gallery.open([folder])
    }

    package var window: UnsafeMutablePointer<GtkWidget> { gallery.widget.widget }

    /// The images that the grid draws now, for benchmarks.
    package var shownImageCount: Int {
        gallery.photos.grid.boundCells.count { $0.isOnScreen && $0.picture.image != nil }
    }

    package var isSettled: Bool { gallery.isSettled }

    /// Scrolls by a distance in points.
    package func scroll(by distance: Double) {
        let grid = gallery.photos.grid
        grid.scroll(GTK_ORIENTATION_VERTICAL, to: grid.scrollPosition(GTK_ORIENTATION_VERTICAL) + distance)
    }
}
