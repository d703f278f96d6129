import CWebImageGTK
import WebImageGTK

/// A page that teaches.
@MainActor protocol GalleryPage: AnyObject {
    var widget: ObjectPointer { get }
    /// Whether all loads and transitions have ended. Animations may play.
    var isSettled: Bool { get }
    /// Whether all images have loaded.
    var isComplete: Bool { get }
}
