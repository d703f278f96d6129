internal import CWebImageGTK
internal import GTKObjects
public import WebImage

/// Drawing, and the image as a `GdkPaintable`.
extension ZoomView {
    func draw(into snapshot: OpaquePointer) {
        guard let own = gtk_snapshot_new() else { return }
        drawImage(into: own, shownGeometry)
        let node = gtk_snapshot_free_to_node(own)
        // What a transition fades from next.
        lastDrawing.map { gsk_render_node_unref($0) }
        lastDrawing = node
        let progress = imageSlot.painter.transitionProgress
        if progress == nil, let ended = outgoing {
            gsk_render_node_unref(ended)
            outgoing = nil
        }
        if let outgoing, let progress {
            gtk_snapshot_push_cross_fade(snapshot, progress)
            gtk_snapshot_append_node(snapshot, outgoing)
            gtk_snapshot_pop(snapshot)
            if let node { gtk_snapshot_append_node(snapshot, node) }
            gtk_snapshot_pop(snapshot)
        } else if let node {
            gtk_snapshot_append_node(snapshot, node)
        }
        // Of the size of the view, however large the image is.
        imageSlot.painter.snapshotIndicator(into: snapshot, width: viewport.width, height: viewport.height)
        drawOverlay?(snapshot, ZoomPlace(geometry: shownGeometry, scaleFactor: host.scaleFactor))
    }

    private func drawImage(into snapshot: OpaquePointer, _ geometry: ZoomGeometry) {
        let unit = 1 / host.scaleFactor
        let area = geometry.area.snapped(to: unit)
        if showsTiles, let tiles {
            tiles.draw(into: snapshot, geometry, area: area, unit: unit) { place in
                var clip = graphene_rect_t(place)
                gtk_snapshot_push_clip(snapshot, &clip)
                drawContent(into: snapshot, geometry, area: area)
                gtk_snapshot_pop(snapshot)
            }
        } else if showsFull, let full {
            full.draw(into: snapshot, geometry, area: area, unit: unit)
        } else {
            drawContent(into: snapshot, geometry, area: area)
        }
    }

    private func drawContent(into snapshot: OpaquePointer, _ geometry: ZoomGeometry, area: PointRect) {
        snapshot.draw(in: area, quarterTurns: geometry.quarterTurns) { width, height in
            imageSlot.painter.snapshot(into: snapshot, width: width, height: height)
        }
    }

    func releaseDrawings() {
        for node in [lastDrawing, outgoing] { node.map { gsk_render_node_unref($0) } }
        (lastDrawing, outgoing) = (nil, nil)
    }

    /// Returns the image as a small `GdkPaintable`, rotated as on screen: for the icon of a drag, or the preview of a dialog. It stays as it
    /// is when the view changes.
    ///
    /// ```swift
    /// @MainActor func setIcon(of source: OpaquePointer, showing view: ZoomView) {
    ///     guard let icon = view.makePaintable(maximumSide: 128) else { return }
    ///     gtk_drag_source_set_icon(source, icon, 0, 0)
    ///     g_object_unref(UnsafeMutableRawPointer(icon))
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - side: the limit of both sides, in points. The image is not enlarged.
    ///   - crop: the part to show, in pixels of the rotated image; `nil`, the default, for all.
    /// - Returns: an object that the caller owns; `nil` without an image.
    public func makePaintable(maximumSide side: Double, crop: PixelRect? = nil) -> OpaquePointer? {
        guard imageSlot.image != nil, let snapshot = gtk_snapshot_new() else { return nil }
        let whole = geometry.rotatedContent * host.scaleFactor
        let part =
            crop.map { PointRect(x: Double($0.x), y: Double($0.y), width: Double($0.width), height: Double($0.height)) }
            ?? PointRect(x: 0, y: 0, width: whole.x, height: whole.y)
        let scale = min(1, side / max(part.width, part.height))
        var bounds = graphene_rect_t(width: part.width * scale, height: part.height * scale)
        gtk_snapshot_push_clip(snapshot, &bounds)
        let area = PointRect(
            x: -part.x * scale, y: -part.y * scale, width: whole.x * scale, height: whole.y * scale)
        drawContent(into: snapshot, geometry, area: area)
        gtk_snapshot_pop(snapshot)
        return gtk_snapshot_free_to_paintable(snapshot, &bounds.size)
    }
}
