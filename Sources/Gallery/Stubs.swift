// Until the parts of others are there: each removes its line with its first commit.
import CWebImageGTK
import FoundationEssentials
import WebImageGTK
@MainActor final class PhotoViewer {
    let widget = ObjectPointer.column(); init(session: GallerySession) {}; func open(index: Int) {}; func close() {};
    var currentURL: URL?; var onClose: () -> Void = {}; var onInspect: () -> Void = {};
    var onCurrentChange: (URL) -> Void = { _ in }; var isSettled: Bool { true }; var actions: [Action] { [] };
    func reload(cachePolicy: CachePolicy) {}
}
