import CWebImageGTK
import GTKObjects
import WebImageGTK

/// The days above the images of the grid, if these are in the order of a date. Labels exist for those near the view.
@MainActor final class DayHeadings {
    /// In points.
    static let height = 44

    private unowned let canvas: Canvas
    /// The days by the first image of each.
    private var days: [Int: String?] = [:]
    private var labels: [Int: ObjectPointer] = [:]
    private var spareLabels: [ObjectPointer] = []

    init(in canvas: Canvas) { self.canvas = canvas }

    /// Sets the days. Returns the first image of each.
    func setSections(_ sections: [(start: Int, day: String?)]) -> [Int] {
        days = Dictionary(uniqueKeysWithValues: sections.map { ($0.start, $0.day) })
        return sections.map(\.start)
    }

    /// The texts near the view, in order.
    var texts: [String] { labels.sorted { $0.key < $1.key }.map(\.value.text) }

    /// Gives labels to the days that begin with these images, and takes those of others.
    func show(_ starts: [Int]) {
        let wanted = Set(starts)
        for (start, label) in labels where !wanted.contains(start) {
            gtk_widget_set_child_visible(label.widget, 0)
            spareLabels.append(label)
            labels[start] = nil
        }
        for start in starts {
            let label = labels[start] ?? spareLabels.popLast() ?? makeLabel()
            labels[start] = label
            let title = days[start].map { day in day.map(Self.title) ?? localized("Without a date") } ?? ""
            if label.text != title { label.text = title }
        }
    }

    /// Hides the days that begin with other images, which get no place in this layout: GTK draws no label without one.
    func hide(outside images: Range<Int>) {
        for (start, label) in labels where !images.contains(start) { gtk_widget_set_child_visible(label.widget, 0) }
    }

    private func makeLabel() -> ObjectPointer {
        let label = ObjectPointer.label("", "heading").set("wrap", false).aligned(nil, GTK_ALIGN_END)
        gtk_label_set_ellipsize(label.opaque, PANGO_ELLIPSIZE_END)
        label.margins(horizontal: 0, vertical: 6)
        canvas.add(label)
        return label
    }

    /// - Parameter edge: the space on both sides, in points.
    func place(_ start: Int, edge: Int, y: Double, width: Int, isInSight: Bool) {
        guard let label = labels[start] else { return }
        gtk_widget_set_child_visible(label.widget, isInSight && y > -Double(Self.height) ? 1 : 0)
        canvas.place(label, x: Double(edge), y: y, width: max(1, width - 2 * edge), height: Self.height)
    }

    /// Returns a day for users, such as `Friday, 1 May 2026`, in their language.
    ///
    /// - Parameter day: as `YYYY:MM:DD`; others are returned as they are.
    static func title(of day: String) -> String {
        let numbers = day.split(separator: ":").compactMap { Int($0) }
        return numbers.count == 3 ? DateText.day(year: numbers[0], month: numbers[1], day: numbers[2]) ?? day : day
    }
}
