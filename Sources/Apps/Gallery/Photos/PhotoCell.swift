import CWebImageGTK
import Dispatch
import FoundationEssentials
import GTKObjects
import WebImageGTK

/// An image of the grid: a single widget that draws the image, its progress, and whether it is selected. After a failure it
/// has a button that says what is wrong and tries again.
@MainActor final class PhotoCell: Canvas {
    /// The background of transparent images, as a CSS color.
    nonisolated static let backdrop = "#3d3846"
    private static let backdropColor = GdkRGBA(red: 0x3d / 255.0, green: 0x38 / 255.0, blue: 0x46 / 255.0, alpha: 1)

    /// The radius of the corners in points, which the style sheet has too.
    nonisolated static let cornerRadius: Float = 6

    /// The image on display; `nil` while the cell is unused.
    private(set) var item: (index: Int, url: URL)?
    private(set) lazy var picture = WebPaintable(in: widget.widget)
    /// The height for which the image is decoded, in pixels.
    private var decodedHeight = 0
    private var failureButton: ObjectPointer?
    /// Part of the ``failureButton``.
    private var failureLabel: ObjectPointer?
    private let session: GallerySession
    private let onLoad: (_ index: Int, _ size: PixelSize) -> Void
    private var caption: Caption?
    /// The space below the image for its name and date, in points; 0 without.
    var captionHeight = 0 { didSet { if captionHeight != oldValue { captionDidChange() } } }
    var isSelected = false { didSet { if isSelected != oldValue { selectionDidChange() } } }

    /// - Parameter onLoad: called when an image has loaded, with its size in pixels.
    init(session: GallerySession, onLoad: @escaping (_ index: Int, _ size: PixelSize) -> Void) {
        (self.session, self.onLoad) = (session, onLoad)
        super.init(role: GTK_ACCESSIBLE_ROLE_LIST_ITEM)
        gtk_widget_set_focusable(widget.widget, 1)
        gtk_widget_set_overflow(widget.widget, GTK_OVERFLOW_HIDDEN)
        widget.style("photo")
        picture.contentMode = .scaleAspectFill
        // The grid has cells only for images near the visible area.
        (picture.loading, picture.loadsOffscreen) = (.eager, true)
        picture.autoplayFollowsSettings = true
        picture.indicator = .bar(color: Color(red: 1, green: 1, blue: 1, alpha: 0.85))
        picture.onLoadStateChange = { [weak self] in self?.show($0) }
        ObjectPointer(picture.paintable).onSignal("invalidate-contents") { [weak self] in self?.queueDraw() }
    }

    /// The space for a name and a date, in points: above them as much as between images, and below them more.
    static let captionHeight = 46
    private static let captionGap = 6

    /// The name of a file and a date.
    @MainActor private final class Caption {
        let widget: ObjectPointer
        private let name = ObjectPointer.label("", "caption")
        private let date = ObjectPointer.label("", "caption", "dim-label", "numeric")
        private var reading: Task<Void, Never>?

        init() {
            for label in [name, date] {
                gtk_label_set_ellipsize(label.set("wrap", false).opaque, PANGO_ELLIPSIZE_MIDDLE)
            }
            widget = .column([name, date])
            // The window may close while a date is being read.
            widget.onSignal("destroy") { [weak self] in self?.reading?.cancel() }
        }

        var text: String { name.text + "\n" + date.text }

        /// - Parameter known: the date to show, as `YYYY:MM:DD HH:MM:SS`; `nil` for when the file was modified.
        func show(_ url: URL?, date known: String? = nil) {
            name.text = url?.displayName ?? ""
            date.text = known.map(DateText.minutes(ofEXIF:)) ?? ""
            reading?.cancel()
            guard known == nil, let url, url.isFileURL else { return }
            reading = Task { [weak self] in
                let modified = await DispatchQueue.files.run { _ in LocalFile.modified(url) }
                guard let self, !Task.isCancelled, let modified else { return }
                date.text = DateText.minutes(modified)
            }
        }
    }

    /// The text below the image, for tests; empty without a caption.
    var captionText: String { caption?.text ?? "" }

    private func captionDidChange() {
        if captionHeight > 0, caption == nil {
            if let url = item?.url { session.index.need(url) }
            let new = Caption()
            add(new.widget)
            caption = new
            showCaption()
        } else if captionHeight == 0, let old = caption {
            remove(old.widget)
            caption = nil
        }
        queueLayout()
        queueDraw()
    }

    /// With the date that the order is by.
    private func showCaption() { caption?.show(item?.url, date: item.flatMap { session.collection.dates[$0.url] }) }

    /// Shows the date that the order is by now.
    func dateDidChange() { if item != nil { showCaption() } }

    /// Shows an image of the collection.
    ///
    /// - Parameter height: the cell's height in points.
    func bind(index: Int, url: URL, height: Int) {
        let pixels = Self.decodedHeight(for: height * Int(gtk_widget_get_scale_factor(widget.widget)))
        let isSame = item?.url == url
        item = (index, url)
        // A larger image serves smaller cells, and one that is smaller than it was asked for is whole.
        let isWhole = isSame && picture.image.map { $0.pixels.height < decodedHeight } ?? false
        guard !isSame || pixels > decodedHeight && !isWhole || pixels * 2 < decodedHeight else { return }
        decodedHeight = pixels
        if !isSame {
            // With names, stars are shown, too. Otherwise, only those that are known are.
            if captionHeight > 0 { session.index.need(url) }
            setAccessibleName()
            showCaption()
        }
        load()
    }

    /// Notes that the image has another place in the collection.
    func move(to index: Int) { if let item { self.item = (index, item.url) } }

    /// Shows what the file has now.
    func contentDidChange() {
        showCaption()
        load(cachePolicy: .reload)
    }

    /// Cancels the load, and releases the image.
    func unbind() {
        item = nil
        decodedHeight = 0
        isSelected = false
        picture.prepareForReuse()
        picture.alternativeText = nil
        caption?.show(nil)
    }

    /// Loads the image; again if `cachePolicy` requires it, or after a failure.
    func load(cachePolicy: CachePolicy = .cacheFirst) {
        guard let item else { return }
        let request = WebImageRequest(
            item.url, cachePolicy: cachePolicy,
            thumbnail: Thumbnail(
                .pixels(width: decodedHeight * 2 / 5, height: decodedHeight), mode: .aspectFill)
        ).forOwnFiles
        // A larger version of the image on display replaces it without a gap.
        let isShown = picture.imageURL == item.url && picture.image != nil
        picture.setImage(
            request, placeholder: .cachedVariant, options: isShown ? .ignorePlaceholder : .fadeIn,
            manager: session.manager,
            completion: { [weak self] result in
                guard let self, let current = self.item, current.url == item.url, case .success(let response) = result
                else { return }
                onLoad(current.index, response.image.pixels.size)
            })
    }

    /// Images are decoded at one of a few heights, so that zooming does not decode them at each step.
    nonisolated static func decodedHeight(for pixels: Int) -> Int {
        var height = 128
        while height < pixels { height += height < 256 ? 32 : height / 4 }
        return height
    }

    // MARK: State

    private func show(_ state: LoadState) {
        guard case .failed(let error) = state else {
            if let failureButton { remove(failureButton) }
            (failureButton, failureLabel) = (nil, nil)
            return
        }
        let button = failureButton ?? makeFailureButton()
        failureLabel?.text = error.shortReason
        gtk_widget_set_tooltip_text(button.widget, error.userDescription)
        button.setAccessibleLabel(
            localized("Loading failed. Click to try again. {error}", ["error": error.userDescription]))
    }

    /// Why there is no image, for tests; `nil` if none has failed.
    var failureText: String? { failureLabel?.text }

    private func makeFailureButton() -> ObjectPointer {
        let icon = ObjectPointer(gtk_image_new_from_icon_name("view-refresh-symbolic"))
        let label = ObjectPointer.label("", "caption").set("justify", 2).set("xalign", 0.5).set("lines", 2)
        gtk_label_set_ellipsize(label.opaque, PANGO_ELLIPSIZE_END)
        let button = ObjectPointer(gtk_button_new()).style("failure").style("flat")
        gtk_button_set_child(
            button.as(), ObjectPointer.column(spacing: 6, [icon, label]).aligned(nil, GTK_ALIGN_CENTER).widget)
        button.onSignal("clicked") { [weak self] in _ = self?.picture.retry() }
        add(button)
        (failureButton, failureLabel) = (button, label)
        return button
    }

    private func selectionDidChange() {
        widget.setStyle("selected", isSelected)
        widget.setAccessibleSelected(isSelected)
        queueDraw()
    }

    private func setAccessibleName() {
        guard let url = item?.url else { return widget.setAccessibleLabel(nil) }
        let stars = session.index.facts[url]?.stars ?? 0
        widget.setAccessibleLabel(
            stars > 0
                ? counted("{name}, {count} star", "{name}, {count} stars", count: stars, ["name": url.displayName])
                : url.displayName)
    }

    /// Shows the stars that are known now.
    func factsDidChange() {
        setAccessibleName()
        queueDraw()
    }

    private var starText: String { item.flatMap { session.index.facts[$0.url]?.starText } ?? "" }

    /// Whether the cell shows an image of the collection on screen.
    var isOnScreen: Bool { item != nil && gtk_widget_get_mapped(widget.widget) != 0 }

    /// Whether the load and its transition have ended. Off screen, a cancelled load counts as settled.
    var isSettled: Bool {
        switch picture.loadState {
        case .loaded, .failed: !picture.imageSlot.isInTransition
        case .loading: false
        case .idle: !isOnScreen
        }
    }

    // MARK: Canvas

    override func layOut(width: Int, height: Int) {
        let pictureHeight = max(1, height - captionHeight)
        if let failureButton { place(failureButton, x: 0, y: 0, width: width, height: pictureHeight) }
        if let caption {
            let y = pictureHeight + Self.captionGap
            place(caption.widget, x: 0, y: Double(y), width: width, height: max(1, captionHeight - Self.captionGap))
        }
    }

    override func draw(into snapshot: OpaquePointer) {
        let (width, height) = (Float(width), Float(max(1, height - captionHeight)))
        var area = graphene_rect_t(
            origin: graphene_point_t(x: 0, y: 0), size: graphene_size_t(width: width, height: height))
        if captionHeight > 0 {
            // The style sheet rounds the cell, which goes on below the image.
            var outline = GskRoundedRect()
            gsk_rounded_rect_init_from_rect(&outline, &area, Self.cornerRadius)
            gtk_snapshot_push_rounded_clip(snapshot, &outline)
        }
        if picture.image?.pixels.isOpaque != true {
            var color = picture.image == nil ? textColor : Self.backdropColor
            if picture.image == nil { color.alpha = 0.1 }
            gtk_snapshot_append_color(snapshot, &color, &area)
        }
        gdk_paintable_snapshot(picture.paintable, snapshot, Double(width), Double(height))
        if !starText.isEmpty { drawStars(bottom: Double(height), into: snapshot) }
        if isSelected { drawSelection(in: area, into: snapshot) }
        if captionHeight > 0 { gtk_snapshot_pop(snapshot) }
    }

    /// Draws the stars over the lower edge of the image.
    private func drawStars(bottom: Double, into snapshot: OpaquePointer) {
        let top = bottom - lineHeight - 4
        fill(0, top, Double(width), bottom - top, GdkRGBA(red: 0, green: 0, blue: 0, alpha: 0.5), in: snapshot)
        drawText(starText, x: 6, y: top + 2, GdkRGBA(red: 1, green: 0.86, blue: 0.4, alpha: 1), in: snapshot)
    }

    private func drawSelection(in area: graphene_rect_t, into snapshot: OpaquePointer) {
        var area = area
        // The style sheet gives selected images the color of the accent.
        var tint = textColor
        tint.alpha = 0.3
        gtk_snapshot_append_color(snapshot, &tint, &area)
        tint.alpha = 1
        snapshot.appendBorder(4, in: area, tint)
    }
}
