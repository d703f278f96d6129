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
            let title = days[start].map { day in day.map(Self.title) ?? "Without a date" } ?? ""
            if label.text != title { label.text = title }
        }
    }

    private func makeLabel() -> ObjectPointer {
        let label = ObjectPointer.label("", "heading").set("wrap", false).aligned(nil, GTK_ALIGN_END)
        gtk_label_set_ellipsize(label.opaque, PANGO_ELLIPSIZE_END)
        label.margins(horizontal: 6, vertical: 6)
        canvas.add(label)
        return label
    }

    func place(_ start: Int, y: Double, width: Int, isInSight: Bool) {
        guard let label = labels[start] else { return }
        gtk_widget_set_child_visible(label.widget, isInSight && y > -Double(Self.height) ? 1 : 0)
        canvas.place(label, x: 0, y: y, width: width, height: Self.height)
    }

    /// Returns a day for users, such as `Friday, 1 May 2026`, in their language.
    ///
    /// - Parameter day: as `YYYY:MM:DD`; others are returned as they are.
    static func title(of day: String) -> String {
        let numbers = day.split(separator: ":").compactMap { gint($0) }
        guard numbers.count == 3, let date = g_date_time_new_local(numbers[0], numbers[1], numbers[2], 12, 0, 0) else {
            return day
        }
        defer { g_date_time_unref(date) }
        guard let text = g_date_time_format(date, "%A, %-e %B %Y") else { return day }
        defer { g_free(text) }
        return String(cString: text)
    }
}
