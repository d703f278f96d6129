internal import CWebImageGTK
internal import Glibc
internal import GTKObjects
internal import WebImage

/// The place of the image, and its movements.
extension ZoomView {
    /// A change that takes some frames.
    enum Motion {
        /// On the way from a geometry to that of the view.
        ///
        /// - start: the time of the first frame in microseconds; `nil` before it.
        case zoom(from: ZoomGeometry, start: gint64?)
        /// Glides on.
        ///
        /// - velocity: in points a second.
        case glide(velocity: ZoomGeometry.Vector, time: gint64?)
    }

    private static let zoomMicroseconds = 150_000.0
    /// By which factor a second a gliding image slows down, as an exponent of e.
    private static let friction = 4.0

    // MARK: State

    /// How the image is shown. Setting it changes the scale at once; ``setZoom(_:at:isAnimated:)`` moves there.
    public var zoom: Zoom {
        get {
            switch geometry.mode {
            case .fit: .fit
            case .fill: .fill
            case .free: .scale(geometry.scale)
            }
        }
        set { setZoom(newValue) }
    }

    /// The device pixels for a pixel of the image, whatever ``zoom`` is: 1 is 100 %. While the size of the image is unknown, it is
    /// relative to the view.
    public var scale: Double { geometry.scale }

    /// Whether the image is larger than the view, so that it can be moved.
    public var canPan: Bool { geometry.canPan }

    /// Where the image is shown, at the end of a movement in progress. Setting it to that of another view shows the same part of the
    /// image at once, so that two views can be compared: with the same scale relative to that at which the image fits, and with the same point
    /// in the middle. Images and views may have other sizes. The rotation stays.
    public var place: ZoomPlace {
        get { ZoomPlace(geometry: geometry, scaleFactor: host.scaleFactor) }
        set { change { $0.showPart(of: newValue.geometry) } }
    }

    /// The number of clockwise quarter turns by which the image is rotated on screen, 0 to 3. Setting it adds whole turns
    /// as needed.
    public var quarterTurns: Int {
        get { geometry.quarterTurns }
        set { rotate(by: newValue - geometry.quarterTurns) }
    }

    // MARK: Changes

    /// Changes how the image is shown.
    ///
    /// - Parameters:
    ///   - zoom: the new zoom. A scale is kept within ``minimumScale`` and ``maximumScale``, and one that is not finite is ignored.
    ///   - point: the point of the widget, in points, below which the image stays where it is; the middle by default.
    ///   - isAnimated: whether the image gets there within some frames, if the user allows animations; `false` by
    ///     default.
    public func setZoom(_ zoom: Zoom, at point: (x: Double, y: Double)? = nil, isAnimated: Bool = false) {
        change(isAnimated: isAnimated) { geometry in
            switch zoom {
            case .fit: geometry.fit()
            case .fill: geometry.fill()
            case .scale(let scale): geometry.zoom(to: scale, at: point.map { ZoomGeometry.Vector($0.x, $0.y) })
            }
        }
    }

    /// Zooms in by a step, with an animation.
    public func zoomIn() { zoom(by: Self.stepFactor) }

    /// Zooms out by a step, with an animation.
    public func zoomOut() { zoom(by: 1 / Self.stepFactor) }

    /// Multiplies the scale, with an animation.
    ///
    /// - Parameters:
    ///   - factor: more than 1 to zoom in.
    ///   - point: as for ``setZoom(_:at:isAnimated:)``.
    public func zoom(by factor: Double, at point: (x: Double, y: Double)? = nil) {
        setZoom(.scale(geometry.scale * factor), at: point, isAnimated: true)
    }

    /// Shows the whole image if it is zoomed, and 100 % otherwise, with an animation. A small image, which is fitted at 100 %,
    /// is enlarged.
    ///
    /// - Parameter point: as for ``setZoom(_:at:isAnimated:)``.
    public func toggleFit(at point: (x: Double, y: Double)? = nil) {
        setZoom(geometry.isFitted ? .scale(geometry.fittedScale < 1 ? 1 : 2) : .fit, at: point, isAnimated: true)
    }

    /// Moves the image, as far as it is larger than the view.
    ///
    /// - Parameters:
    ///   - x: the distance to the right, in points.
    ///   - y: the distance down, in points.
    ///   - isAnimated: whether it gets there within some frames; `false` by default.
    public func pan(x: Double, y: Double, isAnimated: Bool = false) {
        change(isAnimated: isAnimated) { $0.pan(by: ZoomGeometry.Vector(x, y)) }
    }

    /// Rotates the image on screen clockwise, at once. The file stays as it is.
    ///
    /// - Parameter turns: quarter turns; negative for counterclockwise.
    public func rotate(by turns: Int) { change { $0.rotate(by: turns) } }

    /// Shows the image as a new one: with ``initialZoom``, and not rotated.
    public func resetZoom() {
        isAtStart = true
        applyInitialZoom()
    }

    /// The factor of a step by key or button.
    private static var stepFactor: Double { 1.5 }

    func applyInitialZoom() {
        change(keepsStart: true) { [initialZoom] geometry in
            geometry.rotate(by: -geometry.quarterTurns)
            switch initialZoom {
            case .fit: geometry.fit()
            case .fill: geometry.fill()
            case .scale(let scale): geometry.zoom(to: scale)
            }
        }
    }

    /// Changes the place of the image.
    ///
    /// - Parameters:
    ///   - isAnimated: whether it gets there in steps.
    ///   - keepsStart: whether the change is not the user's.
    func change(isAnimated: Bool = false, keepsStart: Bool = false, _ body: (inout ZoomGeometry) -> Void) {
        let from = shownGeometry
        motion = nil
        let former = geometry
        body(&geometry)
        guard geometry != former || geometry != from else { return }
        if !keepsStart { isAtStart = false }
        geometryDidChange()
        guard isAnimated, geometry.quarterTurns == from.quarterTurns else { return }
        move(.zoom(from: from, start: nil))
    }

    func geometryDidChange() {
        canvas.queueDraw()
        scheduleDetail()
        // Not inside a layout, in which other widgets must not change.
        guard changeCall == nil else { return }
        changeCall = MainLoopCall.whenIdle { [weak self] in
            guard let self else { return }
            changeCall = nil
            let text = imageSize == nil ? nil : "\(Int((geometry.scale * 100).rounded())) %"
            canvas.widget.setAccessible(GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, text)
            onZoomChange?()
        }
    }

    // MARK: Motion

    /// The geometry to draw, which may be on its way to that of the view.
    var shownGeometry: ZoomGeometry {
        guard case .zoom(let from, let start)? = motion else { return geometry }
        guard let start else { return from }
        let part = Double(lastTime - start) / Self.zoomMicroseconds
        let rest = 1 - min(1, max(0, part))
        return from.step(to: geometry, progress: 1 - rest * rest * rest)
    }

    /// Lets the image glide on.
    ///
    /// - Parameter velocity: in points a second.
    func glide(_ velocity: ZoomGeometry.Vector) {
        guard geometry.canPan, velocity.x.isFinite, velocity.y.isFinite else { return }
        move(.glide(velocity: velocity, time: nil))
    }

    /// Nothing moves for users who have disabled animations, or out of sight.
    private func move(_ new: Motion) {
        guard host.isVisible, host.allowsAnimations else { return }
        motion = new
        ticker.start()
    }

    /// - Parameter time: that of the frame, in microseconds.
    /// - Returns: whether the motion goes on.
    func advance(to time: gint64) -> Bool {
        lastTime = time
        switch motion {
        case .zoom(let from, let start):
            let start = start ?? time
            let isOver = Double(time - start) >= Self.zoomMicroseconds || !host.isVisible
            motion = isOver ? nil : .zoom(from: from, start: start)
            canvas.queueDraw()
        case .glide(let velocity, let former): advance(velocity, by: former.map { Double(time - $0) / 1e6 } ?? 0, time)
        case nil: break
        }
        return motion != nil
    }

    private func advance(_ velocity: ZoomGeometry.Vector, by seconds: Double, _ time: gint64) {
        let next = velocity * exp(-Self.friction * seconds)
        let former = geometry
        geometry.pan(by: (velocity - next) / Self.friction)
        let speed = (next * next).sum().squareRoot()
        let isOver = speed < 10 || !host.isVisible || (seconds > 0 && geometry == former)
        motion = isOver ? nil : .glide(velocity: next, time: time)
        if geometry != former { geometryDidChange() }
    }

    /// Whether the image is moving, loading or about to load more pixels, for programs that wait for the final drawing, such as
    /// screenshots. Animations may play.
    public var isBusy: Bool {
        if case .loading = imageSlot.state { return true }
        if case .refining = imageSlot.phase { return true }
        return motion != nil || fullLoad != nil || sizeTask != nil || fileTask != nil || detailCall != nil
            || sizeCall != nil || changeCall != nil || tiles?.isBusy == true || imageSlot.isInTransition
    }
}
