internal import CWebImageGTK
internal import GTKObjects
internal import WebImage

/// Draws the content of one slot: an image or animation, the transition between two images, and an indicator above
/// them.
///
/// A slot made with a closure passes its images to that closure and draws nothing.
@MainActor final class SlotPainter {
    /// The paintable that draws the slot; `nil` while the slot is hidden.
    weak var paintable: PicturePaintable?
    private weak var host: ViewHost?
    /// Receives the images of a slot that draws nothing.
    private let setImage: (@MainActor (Image?) -> Void)?

    /// The content on display, or the new content of the transition in progress. Its size is the paintable's size.
    private(set) var top = Content.empty
    private var transition: Transition?
    /// How images are laid out in the area; `nil` if the area has the image's proportions. By default that of
    /// ``primary``.
    var contentMode: ImageContentMode? {
        get { ownContentMode ?? primary?.contentMode }
        set {
            guard newValue != ownContentMode else { return }
            ownContentMode = newValue
            paintable?.invalidateContents()
        }
    }
    private var ownContentMode: ImageContentMode?
    /// The point that stays visible where the image is cropped.
    var focus = FocalPoint.center {
        didSet { if focus != oldValue { paintable?.invalidateContents() } }
    }
    /// Whether ``ImageContentMode/scaleAspectFit`` enlarges images.
    var enlarges = true {
        didSet { if enlarges != oldValue { paintable?.invalidateContents() } }
    }
    /// Returns what is drawn while there is no image; `nil` for nothing.
    var substitute: (@MainActor () -> Substitute?)?
    /// The painter of the view's main image.
    weak var primary: SlotPainter?
    /// Draws the indicator above all other content.
    var indicator: (@MainActor (ImageFrame) -> Void)? {
        didSet { paintable?.invalidateContents() }
    }
    /// The progress and the time that the indicator is drawn with.
    var indicatorProgress: Double?
    var indicatorTime: gint64 = 0
    /// Overrides the direction of the widget's text, for tests.
    var isRightToLeft: Bool?

    private var playback: AnimationPlayback?
    private var isVisible = false
    var configuration = AnimationPlayer.Configuration() {
        didSet { playback?.player.configuration = configuration }
    }
    var autoplay = true
    var autoplayFollowsSettings = false
    var onAnimationEvent: (@MainActor (AnimationPlayer.Event) -> Void)?
    /// Whether the content alone is drawn: the view draws transitions, with ``transitionProgress``, and the indicator.
    var drawsContentOnly = false
    /// Called after another image or placeholder was set.
    var onContentChange: (@MainActor () -> Void)?

    private struct Transition {
        let effect: ImageTransition
        let old: Content
        var progress: Double
    }

    init(host: ViewHost? = nil, setImage: (@MainActor (Image?) -> Void)? = nil) {
        self.host = host
        self.setImage = setImage
    }

    var drawsImages: Bool { setImage == nil }

    /// The preferred size in whole points; 0 by 0 for any size.
    var intrinsicSize: (width: gint, height: gint) {
        guard let substitute = substitute?(), substitute.hidesContent || top.isEmpty else { return top.intrinsicSize }
        return substitute.intrinsicSize
    }

    /// Plays the animation on display; `nil` for a still image.
    var player: AnimationPlayer? { playback?.player }

    // MARK: Images

    /// Shows `image`, starting with the first frame of `transition`.
    func show(_ image: Image, with transition: ImageTransition? = nil) {
        if let setImage { return setImage(image) }
        // An animation continues with more of its frames.
        if let playback, playback.continues(with: image) { return }
        replace(with: .image(image), image, transition)
    }

    /// Shows the first rows of a still image.
    ///
    /// - Parameter keepsContent: whether the rows are drawn over the content on display.
    func showFirstRows(of image: Image, keepsContent: Bool, with transition: ImageTransition?) {
        guard setImage == nil else { return show(image) }
        replace(with: .rows(image, over: keepsContent ? top : .empty), image, transition)
    }

    /// Shows more rows of the image on display, without another transition.
    func showMoreRows(of image: Image) {
        guard setImage == nil else { return show(image) }
        draw(.rows(image, over: top.base), transition)
        onContentChange?()
    }

    /// Shows `image` below the rows on display.
    func showBelowRows(_ image: Image) {
        guard case .rows(let texture, let size, _) = top else { return show(image) }
        draw(.rows(texture, size: size, over: .image(image)), transition)
    }

    /// Shows `image` in place of the same image with fewer pixels or frames. An animation continues.
    func refine(_ image: Image) {
        if let setImage { return setImage(image) }
        // The frame on display stays until the same frame with more pixels is decoded.
        if let playback, image.animation != nil { return playback.update(to: image) }
        playback = nil
        draw(.image(image), transition)
        if image.animation != nil { play(image) }
        onContentChange?()
    }

    /// Shows `placeholder`, or nothing.
    ///
    /// - Parameter mode: the content mode of the placeholder; `nil` for that of images.
    func show(_ placeholder: Placeholder?, mode: ImageContentMode? = nil) {
        if let setImage { return setImage(placeholder.flatMap { try? $0.image() }) }
        playback = nil
        draw(.placeholder(placeholder, mode: mode), nil)
        onContentChange?()
    }

    private func replace(with content: Content, _ image: Image, _ effect: ImageTransition?) {
        playback = nil
        draw(content, effect.map { Transition(effect: $0, old: top, progress: 0) })
        if image.animation != nil { play(image) }
        onContentChange?()
    }

    private func draw(_ content: Content, _ transition: Transition?) {
        let oldSize = top.intrinsicSize
        top = content
        self.transition = transition
        if oldSize != top.intrinsicSize { paintable?.invalidateSize() }
        paintable?.invalidateContents()
    }

    // MARK: Transition

    var isInTransition: Bool { transition != nil }

    /// Whether an image appears where nothing was.
    var isAppearing: Bool { transition?.old.isEmpty == true }

    /// The progress of the transition, from 0 to 1; `nil` if there is none.
    var transitionProgress: Double? { transition?.progress }

    /// - Parameter progress: 0 shows the old content. 1 or more shows the new content and ends the transition.
    func setProgress(_ progress: Double) {
        guard transition != nil else { return }
        transition?.progress = progress
        if progress >= 1 { transition = nil }
        paintable?.invalidateContents()
    }

    func snapshot(into snapshot: OpaquePointer, width: Double, height: Double) {
        let layout = Layout(mode: contentMode, focus: focus, enlarges: enlarges)
        if let substitute = substitute?() {
            substitute.draw(into: snapshot, width: width, height: height, layout)
            if substitute.hidesContent { return }
        }
        let frame = frame(snapshot, width, height, layout)
        if let transition, !drawsContentOnly { transition.effect.draw(frame) } else { frame.drawNew() }
        if !drawsContentOnly { snapshotIndicator(into: snapshot, width: width, height: height) }
    }

    func snapshotIndicator(into snapshot: OpaquePointer, width: Double, height: Double) {
        guard let indicator else { return }
        var frame = frame(snapshot, width, height, Layout())
        frame.progress = indicatorProgress
        indicator(frame)
    }

    private func frame(_ snapshot: OpaquePointer, _ width: Double, _ height: Double, _ layout: Layout) -> ImageFrame {
        ImageFrame(
            snapshot: snapshot, size: PointSize(width: width, height: height), progress: transition?.progress,
            time: Double(indicatorTime) / 1_000_000,
            isRightToLeft: isRightToLeft ?? host?.isRightToLeft ?? false, host: host, old: transition?.old ?? .empty,
            new: top, layout: layout)
    }

    // MARK: Animation

    func visibilityDidChange(to isVisible: Bool) {
        self.isVisible = isVisible
        playback?.setVisible(isVisible)
    }

    private func play(_ image: Image) {
        let playback = AnimationPlayback(image, configuration: configuration, host: host) { [weak self] event, size in
            guard let self else { return }
            if case .frame(_, let pixels) = event { draw(.frame(pixels, size: size), transition) }
            onAnimationEvent?(event)
        }
        self.playback = playback
        playback.setVisible(isVisible)
        if autoplay, !autoplayFollowsSettings || host?.allowsAnimations ?? true { playback.player.play() }
    }
}

// MARK: - Content

extension SlotPainter {
    /// How images are placed in an area.
    struct Layout {
        /// `nil` if the area has the image's proportions.
        var mode: ImageContentMode?
        var focus = FocalPoint.center
        /// Whether ``ImageContentMode/scaleAspectFit`` enlarges.
        var enlarges = true

        /// Returns a layout with a mode, which `mode` takes precedence over.
        func otherwise(_ other: ImageContentMode) -> Layout {
            Layout(mode: mode ?? other, focus: focus, enlarges: enlarges)
        }

        func place(_ size: PointSize, in area: PointRect) -> PointRect {
            guard let mode, mode != .scaleToFill, size.width > 0, size.height > 0 else { return area }
            let isSmaller = size.width <= area.width && size.height <= area.height
            let fits = mode == .scaleAspectFit && !enlarges && isSmaller
            return (fits ? .center : mode).rect(of: size, in: area, focus: focus)
        }
    }

    /// Content to draw.
    @MainActor enum Content {
        /// Draws nothing.
        case empty
        /// Fills the area.
        case color(Color)
        /// Draws a texture.
        ///
        /// - size: the size of the image in points. mode: the content mode of the image; `nil` for that of the slot.
        case texture(ObjectReference, size: PointSize, mode: ImageContentMode?)
        /// Draws the texture of an incomplete image over `base`.
        indirect case rows(ObjectReference, size: PointSize, over: Content)

        static func image(_ image: Image, mode: ImageContentMode? = nil) -> Content {
            .texture(Texture.of(image.pixels), size: image.size, mode: mode)
        }

        static func rows(_ image: Image, over base: Content) -> Content {
            .rows(Texture.of(image.pixels), size: image.size, over: base)
        }

        /// A frame of an animation.
        ///
        /// - Parameter size: the size of the animation in points.
        static func frame(_ pixels: PixelBuffer, size: PointSize) -> Content {
            .texture(Texture.of(pixels), size: size, mode: nil)
        }

        static func placeholder(_ placeholder: Placeholder?, mode: ImageContentMode? = nil) -> Content {
            switch placeholder {
            case .image(let image): .image(image, mode: mode)
            case .color(let color): .color(color)
            case .blurHash?: blurHash(placeholder)
            default: .empty
            }
        }

        /// A BlurHash does not contain the proportions of its image, so it fills the area and has no size of its own.
        private static func blurHash(_ placeholder: Placeholder?) -> Content {
            guard let image = try? placeholder?.image() else { return .empty }
            return .texture(Texture.of(image.pixels), size: PointSize(width: 0, height: 0), mode: nil)
        }

        var isEmpty: Bool { if case .empty = self { true } else { false } }

        /// The content below the rows; `empty` for other content.
        var base: Content { if case .rows(_, _, let base) = self { base } else { .empty } }

        /// The preferred size in whole points; 0 by 0 for any size.
        var intrinsicSize: (width: gint, height: gint) {
            switch self {
            case .empty, .color: (0, 0)
            case .texture(_, let size, _), .rows(_, let size, _): size.wholePoints
            }
        }

        /// The size in points; `nil` for any size.
        var size: PointSize? {
            switch self {
            case .empty, .color: nil
            case .texture(_, let size, _), .rows(_, let size, _): size.width > 0 && size.height > 0 ? size : nil
            }
        }

        /// Draws the content in an area of `width` by `height` points, clipped to that area.
        func snapshot(into snapshot: OpaquePointer, width: Double, height: Double, _ layout: Layout) {
            let area = PointRect(x: 0, y: 0, width: width, height: height)
            switch self {
            case .empty:
                break
            case .color(let color):
                var components = GdkRGBA(color)
                var rect = graphene_rect_t(area)
                gtk_snapshot_append_color(snapshot, &components, &rect)
            case .texture(let texture, let size, let ownMode):
                append(texture, size, to: snapshot, in: area, ownMode.map { Layout(mode: $0) } ?? layout)
            case .rows(let texture, let size, let base):
                base.snapshot(into: snapshot, width: width, height: height, layout)
                append(texture, size, to: snapshot, in: area, layout)
            }
        }

        private func append(
            _ texture: ObjectReference, _ size: PointSize, to snapshot: OpaquePointer, in area: PointRect,
            _ layout: Layout
        ) {
            let place = layout.place(size, in: area)
            var (clip, rect) = (graphene_rect_t(area), graphene_rect_t(place))
            var isClipped = place.x < 0 || place.y < 0 || place.width > area.width || place.height > area.height
            let columns = Double(gdk_texture_get_width(texture.pointer.opaque))
            if place.width > columns, Texture.hasWrongLeftEdge(texture) {
                // Leaves out the left half of the first column, which is mixed with the wrong pixels.
                var visible = clip
                graphene_rect_intersection(&rect, &visible, &clip)
                let hidden = Float(place.width / (2 * columns - 1))
                rect.origin.x -= hidden
                rect.size.width += hidden
                isClipped = true
            }
            if isClipped { gtk_snapshot_push_clip(snapshot, &clip) }
            gtk_snapshot_append_texture(snapshot, texture.pointer.opaque, &rect)
            if isClipped { gtk_snapshot_pop(snapshot) }
        }
    }
}

extension Image {
    /// Whether the image has blank areas because some of its rows have not arrived, or some columns if its orientation
    /// rotates it. A coarse pass over the whole image has no blank areas.
    var hasMissingRows: Bool {
        guard isPartial else { return false }
        let (right, bottom) = (width - 1, height - 1)
        return [(0, 0), (right, 0), (0, bottom), (right, bottom)].contains { pixels[$0.0, $0.1].w == 0 }
    }
}

extension PointSize {
    /// The size rounded up to whole points, as layouts require; 0 for values that `gint` cannot represent.
    var wholePoints: (width: gint, height: gint) {
        func whole(_ length: Double) -> gint { max(0, gint(exactly: length.rounded(.up)) ?? 0) }
        return (whole(width), whole(height))
    }
}

extension graphene_rect_t {
    init(x: Double = 0, y: Double = 0, width: Double, height: Double) {
        self.init(
            origin: graphene_point_t(x: Float(x), y: Float(y)),
            size: graphene_size_t(width: Float(width), height: Float(height)))
    }

    init(_ rect: PointRect) { self.init(x: rect.x, y: rect.y, width: rect.width, height: rect.height) }
}

extension GdkRGBA {
    init(_ color: Color) {
        self.init(
            red: Float(color.red), green: Float(color.green), blue: Float(color.blue), alpha: Float(color.alpha))
    }
}
