import WebImageGTK

/// The manager that loads the images, and the figures of its loads. All cells share it.
@MainActor final class PhotoLoads {
    let manager: WebImageManager
    var figures = LoadFigures() {
        didSet { onChange?() }
    }
    var onChange: (() -> Void)?

    init(manager: WebImageManager) { self.manager = manager }
}
