import WebImageGTK

/// Who loads the pictures, and what came of it; shared by all cells.
@MainActor final class PhotoLoads {
    let manager: WebImageManager
    var figures = LoadFigures() {
        didSet { onChange?(figures) }
    }
    var onChange: ((LoadFigures) -> Void)?

    init(manager: WebImageManager) { self.manager = manager }
}
