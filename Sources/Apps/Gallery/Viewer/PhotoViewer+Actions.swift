import CWebImageGTK
import GTKObjects
import WebImageGTK

/// The user's commands, by menu, button and key.
extension PhotoViewer {
    /// - Parameter viewer: returns the viewer, if there is one by then.
    static func actions(of viewer: @escaping @MainActor () -> PhotoViewer?) -> [Action] {
        typealias Body = @MainActor (PhotoViewer) -> Void
        /// - Parameter keepsShow: whether the slide show goes on.
        func action(
            _ name: String, _ title: String, keys: [String] = [], pageKeys: [String] = [], keepsShow: Bool = false,
            _ body: @escaping Body
        ) -> Action {
            Action("viewer-\(name)", title, .viewer, keys: keys, pageKeys: pageKeys) {
                guard let viewer = viewer(), viewer.currentURL != nil else { return }
                if !keepsShow { viewer.slideShow.stop() }
                viewer.crop.end()
                viewer.fullScreen.wake()
                body(viewer)
            }
        }
        // Like the buttons and swipes, the arrows follow the direction of the text.
        let isRightToLeft = gtk_widget_get_default_direction() == GTK_TEXT_DIR_RTL
        let (forward, backward) = isRightToLeft ? ("Left", "Right") : ("Right", "Left")
        let moves = [
            action("next", localized("Next image"), pageKeys: [forward, "Page_Down", "n"]) { $0.move(by: 1) },
            action("previous", localized("Previous image"), pageKeys: [backward, "Page_Up", "p"]) { $0.move(by: -1) },
            action("first", localized("First image"), pageKeys: ["Home"]) { $0.move(to: 0) },
            action("last", localized("Last image"), pageKeys: ["End"]) { $0.move(to: .max) },
            action("back", localized("Back"), pageKeys: ["Escape", "BackSpace", "<Alt>\(backward)"], keepsShow: true) {
                $0.leave()
            },
        ]
        let zooms = [
            action("zoom-in", localized("Zoom in"), pageKeys: keys("plus", "equal", "KP_Add")) { $0.canvas.zoomIn() },
            action("zoom-out", localized("Zoom out"), pageKeys: keys("minus", "KP_Subtract")) { $0.canvas.zoomOut() },
            action("fit", localized("Fit the image"), pageKeys: keys("0", "KP_0")) {
                $0.canvas.setZoom(.fit, isAnimated: true)
            },
            action("actual-size", localized("Show at 100 %"), pageKeys: keys("1", "KP_1")) {
                $0.canvas.setZoom(.scale(1), isAnimated: true)
            },
            action("toggle-fit", localized("Fit or 100 %")) { $0.canvas.toggleFit() },
            action("pan-left", localized("Move the view left"), pageKeys: ["<Control>Left"]) { $0.pan(1, 0) },
            action("pan-right", localized("Move the view right"), pageKeys: ["<Control>Right"]) { $0.pan(-1, 0) },
            action("pan-up", localized("Move the view up"), pageKeys: ["Up", "<Control>Up"]) { $0.pan(0, 1) },
            action("pan-down", localized("Move the view down"), pageKeys: ["Down", "<Control>Down"]) { $0.pan(0, -1) },
            action("rotate-right", localized("Rotate right"), pageKeys: keys("r")) { $0.canvas.rotate(by: 1) },
            action("rotate-left", localized("Rotate left"), pageKeys: ["<Shift>r", "<Control><Shift>r"]) {
                $0.canvas.rotate(by: -1)
            },
            action("keep-rotation", localized("Keep the rotation in the file"), pageKeys: ["<Control>k"]) {
                $0.keepRotation()
            },
        ]
        let modes = [
            action("full-screen", localized("Full screen"), keys: ["F11"], pageKeys: ["f"], keepsShow: true) {
                $0.fullScreen.toggle()
            },
            action("slide-show", localized("Slide show"), keys: ["F5"], keepsShow: true) { $0.toggleSlideShow() },
            action("filmstrip", localized("Show the filmstrip"), pageKeys: ["t"]) { viewer in
                viewer.session.settings.change { $0.showsFilmstrip.toggle() }
            }
            .showing(\.showsFilmstrip),
            action("play", localized("Play or pause an animation"), pageKeys: ["space", "k"]) {
                $0.animationControls.togglePlay()
            },
            action("frame-forward", localized("Next frame"), pageKeys: ["period"]) { $0.animationControls.step(by: 1) },
            action("frame-back", localized("Previous frame"), pageKeys: ["comma"]) {
                $0.animationControls.step(by: -1)
            },
            action("faster", localized("Play faster"), pageKeys: ["bracketright"]) {
                $0.animationControls.changeRate(by: 1)
            },
            action("slower", localized("Play slower"), pageKeys: ["bracketleft"]) {
                $0.animationControls.changeRate(by: -1)
            },
        ]
        let exits = [
            action("crop", localized("Crop and save a copy"), pageKeys: ["c"]) { $0.crop.begin() },
            action("save-as", localized("Save as"), keys: ["<Control>s", "<Control><Shift>s"]) { $0.saveAs() },
            action("print", localized("Print"), keys: ["<Control>p"]) { viewer in Task { await viewer.printImage() } },
            action("wallpaper", localized("Set as wallpaper")) { viewer in Task { await viewer.setAsWallpaper() } },
            action("copy", localized("Copy the image"), pageKeys: ["<Control>c"]) { viewer in
                Task { await viewer.copyImage() }
            },
            action("copy-link", localized("Copy the link or path"), pageKeys: ["<Control><Alt>c"]) { $0.copyLink() },
            action("trash", localized("Move to the trash"), pageKeys: ["Delete", "KP_Delete"]) { viewer in
                if let url = viewer.currentURL { viewer.session.moveToTrash([url]) }
            },
            action("open-with", localized("Open with another program"), pageKeys: ["<Control>e"]) { $0.openWith() },
        ]
        return moves + zooms + modes + exits
    }

    /// Keys that work with and without Control.
    private static func keys(_ names: String...) -> [String] { names + names.map { "<Control>\($0)" } }

    func makeMenu() -> ObjectPointer {
        .menu([
            [
                (localized("Save as…"), "win.viewer-save-as"), (localized("Crop and save a copy…"), "win.viewer-crop"),
                (localized("Print…"), "win.viewer-print"), (localized("Copy image"), "win.viewer-copy"),
                (localized("Copy link"), "win.viewer-copy-link"), (localized("Open with…"), "win.viewer-open-with"),
                (localized("Set as wallpaper…"), "win.viewer-wallpaper"),
            ],
            [
                (localized("Rotate left"), "win.viewer-rotate-left"),
                (localized("Rotate right"), "win.viewer-rotate-right"),
                (localized("Keep the rotation"), "win.viewer-keep-rotation"),
            ],
            [
                (localized("Compare"), "win.compare"), (localized("Tags…"), "win.tags"),
                (localized("Rename…"), "win.rename"),
                (localized("Move to the trash"), "win.viewer-trash"),
            ],
            [
                (localized("Full screen"), "win.viewer-full-screen"),
                (localized("Slide show"), "win.viewer-slide-show"),
                (localized("Filmstrip"), "win.viewer-filmstrip"),
            ],
        ])
    }

    private func keepRotation() {
        // Keys repeat: until the file's new image is shown, the rotation on screen is the one that is being kept.
        guard let url = currentURL, !isIncoming, !session.fileChanges.contains(url) else { return }
        guard canvas.quarterTurns != 0 else { return session.showToast(localized("The image is not rotated")) }
        session.rotateFiles([url], by: canvas.quarterTurns)
    }

    /// Moves the view by a part of its size.
    private func pan(_ x: Double, _ y: Double) {
        let (width, height) = (gtk_widget_get_width(canvas.widget), gtk_widget_get_height(canvas.widget))
        canvas.pan(x: x * Double(width) * 0.2, y: y * Double(height) * 0.2, isAnimated: true)
    }
}
