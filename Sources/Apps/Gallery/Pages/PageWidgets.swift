import CWebImageAdwaita
import CWebImageGTK
import GTKObjects
import WebImageGTK

/// A page that begins once the photographs are known. Subclasses override ``fill(with:)``.
@MainActor class PhotographPage: GalleryPage {
    let widget: ObjectPointer
    let samples: Samples
    /// The page's parts, from top to bottom.
    let content = ObjectPointer.column(spacing: 36)
    private(set) var isFilled = false
    /// Whether the widgets are gone. What ends later must not use them.
    private(set) var isClosed = false

    /// - Parameters:
    ///   - introduction: what to look at, in a sentence or two.
    ///   - controls: stay in sight below the page, which scrolls.
    init(samples: Samples, introduction: String, controls: ObjectPointer? = nil) {
        self.samples = samples
        content.append(.label(introduction))
        content.margins(horizontal: 12, vertical: 18)
        widget = .column([.scrolling(.clamped(content, width: 1_100))])
        if let controls {
            widget.append(ObjectPointer(gtk_separator_new(GTK_ORIENTATION_HORIZONTAL)))
            widget.append(.clamped(controls.margins(horizontal: 12, vertical: 6), width: 1_100))
        }
        begin()
    }

    /// A page of other parts.
    init(samples: Samples, widget: ObjectPointer) {
        (self.samples, self.widget) = (samples, widget)
        begin()
    }

    private func begin() {
        widget.onSignal("destroy") { [weak self] in self?.isClosed = true }
        Task { [weak self, samples] in
            let photographs = await samples.photographs()
            guard let self, !isClosed else { return }
            fill(with: photographs)
            isFilled = true
        }
    }

    /// Adds the parts that need photographs; there is at least one.
    func fill(with photographs: [Photograph]) {}

    /// The slots that count for ``isSettled`` and ``isComplete``.
    var slots: [ImageSlot] { [] }

    /// Off screen, loads are paused.
    var isSettled: Bool { isFilled && slots.allSatisfy { $0.isSettled || $0.loadState == .idle } }
    var isComplete: Bool {
        isFilled && slots.allSatisfy { if case .loaded = $0.loadState { true } else { $0.loadState == .idle } }
    }
}

extension ImageSlot {
    /// Whether its load and transition have ended.
    var isSettled: Bool {
        switch loadState {
        case .loaded, .failed: !isInTransition
        case .idle, .loading: false
        }
    }
}

extension Array {
    /// The element at an index, counted around.
    subscript(around index: Int) -> Element { self[index % count] }
}

// MARK: - Widgets

@MainActor extension ObjectPointer {
    /// Returns a heading, an explanation and what they are about.
    static func section(_ title: String, _ explanation: String, _ parts: [ObjectPointer]) -> ObjectPointer {
        let heading = ObjectPointer.label(title, "title-4")
        let column = ObjectPointer.column(spacing: 6, [heading, .label(explanation, "dim-label")])
        for part in parts { column.append(part.margins(vertical: 6)) }
        return column
    }

    /// Returns `children` in as many columns as fit.
    ///
    /// - Parameter columns: the maximum number of columns.
    static func flow(_ children: [ObjectPointer], columns: Int = 4) -> ObjectPointer {
        ColumnsView(children, columns: columns).widget.aligned(nil, GTK_ALIGN_START)
    }

    /// Returns an image above its title and an explanation.
    ///
    /// - Parameter controls: below the explanation.
    static func card(
        _ image: ObjectPointer, _ title: String, _ explanation: String = "", controls: [ObjectPointer] = []
    ) -> ObjectPointer {
        let card = ObjectPointer.column(spacing: 6, [image, .caption(title, "heading")])
        if !explanation.isEmpty { card.append(.caption(explanation, "caption", "dim-label")) }
        for control in controls { card.append(control) }
        return card
    }

    /// Returns a label that does not make its column wider.
    static func caption(_ text: String, _ styles: String...) -> ObjectPointer {
        let label = ObjectPointer.label(text).set("max-width-chars", 24)
        for style in styles { label.style(style) }
        return label
    }
}

/// A picture with round corners, as wide as its column and of constant height.
@MainActor struct PictureFrame {
    let picture = WebPicture()
    /// The widget around the picture. An overlay is as large as its main child, whatever the image.
    let widget = ObjectPointer(gtk_overlay_new()).style("image-frame")

    /// - Parameters:
    ///   - width: the minimum width in points.
    ///   - isFlexible: whether it takes the width of its column.
    init(width: Int = 220, height: Int = 140, isFlexible: Bool = true) {
        gtk_widget_set_overflow(widget.widget, GTK_OVERFLOW_HIDDEN)
        gtk_overlay_set_child(widget.opaque, ObjectPointer.row().sized(width, height).widget)
        gtk_overlay_add_overlay(widget.opaque, picture.widget)
        if !isFlexible { widget.aligned(GTK_ALIGN_START) }
        picture.contentMode = .scaleAspectFill
        picture.decodesAtDisplaySize = true
        picture.autoplayFollowsSettings = true
    }
}
