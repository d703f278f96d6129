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
            action("next", "Next image", pageKeys: [forward, "Page_Down", "n"]) { $0.move(by: 1) },
            action("previous", "Previous image", pageKeys: [backward, "Page_Up", "p"]) { $0.move(by: -1) },
            action("first", "First image", pageKeys: ["Home"]) { $0.move(to: 0) },
            action("last", "Last image", pageKeys: ["End"]) { $0.move(to: .max) },
            action("back", "Back", pageKeys: ["Escape", "BackSpace", "<Alt>\(backward)"], keepsShow: true) {
                $0.leave()
            },
        ]
        let zooms = [
            action("zoom-in", "Zoom in", pageKeys: keys("plus", "equal", "KP_Add")) { $0.zoom(by: 1.5) },
            action("zoom-out", "Zoom out", pageKeys: keys("minus", "KP_Subtract")) { $0.zoom(by: 1 / 1.5) },
            action("fit", "Fit the image", pageKeys: keys("0", "KP_0")) { viewer in
                viewer.canvas.change(isAnimated: true) { $0.fit() }
            },
            action("actual-size", "Show at 100 %", pageKeys: keys("1", "KP_1")) { viewer in
                viewer.canvas.change(isAnimated: true) { $0.zoom(to: 1) }
            },
            action("toggle-fit", "Fit or 100 %") { $0.canvas.toggleFit() },
            action("pan-left", "Move the view left", pageKeys: ["<Control>Left"]) { $0.pan(1, 0) },
            action("pan-right", "Move the view right", pageKeys: ["<Control>Right"]) { $0.pan(-1, 0) },
            action("pan-up", "Move the view up", pageKeys: ["Up", "<Control>Up"]) { $0.pan(0, 1) },
            action("pan-down", "Move the view down", pageKeys: ["Down", "<Control>Down"]) { $0.pan(0, -1) },
            action("rotate-right", "Rotate right", pageKeys: keys("r")) { $0.rotate(by: 1) },
            action("rotate-left", "Rotate left", pageKeys: ["<Shift>r", "<Control><Shift>r"]) { $0.rotate(by: -1) },
            action("keep-rotation", "Keep the rotation in the file", pageKeys: ["<Control>k"]) { $0.keepRotation() },
        ]
        let modes = [
            action("full-screen", "Full screen", keys: ["F11"], pageKeys: ["f"], keepsShow: true) {
                $0.fullScreen.toggle()
            },
            action("slide-show", "Slide show", keys: ["F5"], keepsShow: true) { $0.toggleSlideShow() },
            action("filmstrip", "Show the filmstrip", pageKeys: ["t"]) { viewer in
                viewer.session.settings.change { $0.showsFilmstrip.toggle() }
            }
            .showing(\.showsFilmstrip),
            action("play", "Play or pause an animation", pageKeys: ["space", "k"]) {
                $0.animationControls.togglePlay()
            },
            action("frame-forward", "Next frame", pageKeys: ["period"]) { $0.animationControls.step(by: 1) },
            action("frame-back", "Previous frame", pageKeys: ["comma"]) { $0.animationControls.step(by: -1) },
            action("faster", "Play faster", pageKeys: ["bracketright"]) { $0.animationControls.changeRate(by: 1) },
            action("slower", "Play slower", pageKeys: ["bracketleft"]) { $0.animationControls.changeRate(by: -1) },
        ]
        let exits = [
            action("crop", "Crop and save a copy", pageKeys: ["c"]) { $0.crop.begin() },
            action("save-as", "Save as", keys: ["<Control>s", "<Control><Shift>s"]) { $0.saveAs() },
            action("print", "Print", keys: ["<Control>p"]) { viewer in Task { await viewer.printImage() } },
            action("wallpaper", "Set as wallpaper") { viewer in Task { await viewer.setAsWallpaper() } },
            action("copy", "Copy the image", pageKeys: ["<Control>c"]) { viewer in Task { await viewer.copyImage() } },
            action("copy-link", "Copy the link or path", pageKeys: ["<Control><Shift>c"]) { $0.copyLink() },
            action("trash", "Move to the trash", pageKeys: ["Delete", "KP_Delete"]) { viewer in
                if let url = viewer.currentURL { viewer.session.moveToTrash([url]) }
            },
            action("open-with", "Open with another program", pageKeys: ["<Control>e"]) { $0.openWith() },
        ]
        return moves + zooms + modes + exits
    }

    /// Keys that work with and without Control.
    private static func keys(_ names: String...) -> [String] { names + names.map { "<Control>\($0)" } }

    func makeMenu() -> ObjectPointer {
        .menu([
            [
                ("Save as…", "win.viewer-save-as"), ("Crop and save a copy…", "win.viewer-crop"),
                ("Print…", "win.viewer-print"), ("Copy image", "win.viewer-copy"),
                ("Copy link", "win.viewer-copy-link"), ("Open with…", "win.viewer-open-with"),
                ("Set as wallpaper…", "win.viewer-wallpaper"),
            ],
            [
                ("Rotate left", "win.viewer-rotate-left"), ("Rotate right", "win.viewer-rotate-right"),
                ("Keep the rotation", "win.viewer-keep-rotation"),
            ],
            [("Rename…", "win.rename"), ("Move to the trash", "win.viewer-trash")],
            [
                ("Full screen", "win.viewer-full-screen"), ("Slide show", "win.viewer-slide-show"),
                ("Filmstrip", "win.viewer-filmstrip"),
            ],
        ])
    }

    private func zoom(by factor: Double) { canvas.change(isAnimated: true) { $0.zoom(by: factor) } }

    private func rotate(by turns: Int) { canvas.change { $0.rotate(by: turns) } }

    private func keepRotation() {
        guard let url = currentURL, let layer = canvas.layer else { return }
        // Keys repeat: until the file's new image is shown, the rotation on screen is the one that is being kept.
        guard layer.url == url, incoming == nil, !session.fileChanges.contains(url) else { return }
        guard layer.geometry.quarterTurns != 0 else { return session.showToast("The image is not rotated") }
        session.rotateFiles([url], by: layer.geometry.quarterTurns)
    }

    /// Moves the view by a part of its size.
    private func pan(_ x: Double, _ y: Double) {
        canvas.change(isAnimated: true) { $0.pan(by: ZoomGeometry.Vector(x, y) * $0.viewport * 0.2) }
    }
}
