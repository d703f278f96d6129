import CWebImageAdwaita
import CWebImageGTK
import Glibc
import GTKObjects
import WebImageGTK

/// A row of the chain: a processor with its parameters, which can be moved and removed.
@MainActor final class ProcessorRow {
    let widget = ObjectPointer(adw_expander_row_new())
    /// Called with the parameters after each change.
    private let onChange: (ProcessorValues) -> Void
    private(set) var values: ProcessorValues
    let kind: ProcessorKind
    private var buttons: [Move: ObjectPointer] = [:]

    enum Move { case up, down, remove }

    /// - Parameters:
    ///   - moves: the moves that are possible.
    ///   - onMove: called for a click on one of them.
    init(
        _ kind: ProcessorKind, _ values: ProcessorValues, moves: [Move], onMove: @escaping @MainActor (Move) -> Void,
        onChange: @escaping (ProcessorValues) -> Void
    ) {
        (self.kind, self.values, self.onChange) = (kind, values, onChange)
        widget.set("title", kind.title.escapedMarkup)
        for field in kind.fields { adw_expander_row_add_row(widget.as(), makeRow(field).widget) }
        let order = ObjectPointer(adw_action_row_new()).set("title", localized("Order"))
        for (move, icon, name) in [
            (Move.up, "go-up-symbolic", localized("Move up")), (.down, "go-down-symbolic", localized("Move down")),
            (.remove, "user-trash-symbolic", localized("Remove")),
        ] {
            let button = ObjectPointer.iconButton(icon, "\(name): \(kind.title)") { onMove(move) }
            button.style("flat").aligned(nil, GTK_ALIGN_CENTER).set("sensitive", moves.contains(move))
            adw_action_row_add_suffix(order.as(), button.widget)
            buttons[move] = button
        }
        adw_expander_row_add_row(widget.as(), order.widget)
        showCode()
    }

    /// Whether the parameters are in sight.
    var isExpanded: Bool {
        get { widget.get("expanded") }
        set { widget.set("expanded", newValue) }
    }

    /// Moves the keyboard focus to the button for a move, or to another one if that move is not possible; to the row if
    /// it is closed.
    func focus(_ move: Move) {
        guard isExpanded else {
            gtk_widget_child_focus(widget.widget, GTK_DIR_TAB_FORWARD)
            return
        }
        let button = [move, .up, .down, .remove].compactMap { buttons[$0] }.first { $0.get("sensitive") }
        if let button { gtk_widget_grab_focus(button.widget) }
    }

    private func change(_ field: ProcessorField, to value: ProcessorValue) {
        guard values[field.name] != value else { return }
        values[field.name] = value
        showCode()
        onChange(values)
    }

    private func showCode() { widget.set("subtitle", kind.code(values).escapedMarkup) }

    // MARK: Fields

    private func makeRow(_ field: ProcessorField) -> ObjectPointer {
        switch field.kind {
        case .number(let range, let digits, let unit): return makeSlider(field, range, digits, unit)
        case .choice(let titles): return makeMenu(field, titles)
        case .flag:
            let control = ObjectPointer(gtk_switch_new()).set("active", values.flag(field.name))
            control.onChange(of: "active") { [weak self] in self?.change(field, to: .flag(control.get("active"))) }
            return makeRow(field, control)
        case .color:
            let color = values.color(field.name)
            var initial = GdkRGBA(
                red: Float(color.red), green: Float(color.green), blue: Float(color.blue), alpha: Float(color.alpha))
            let control = ObjectPointer(web_image_color_button_new(&initial))
            control.onSignal("color-set") { [weak self] in
                let color = web_image_color_button_get_color(control.widget)
                func rounded(_ part: Float) -> Double { Self.rounded(Double(part), digits: 3) }
                self?.change(
                    field,
                    to: .color(
                        Color(red: rounded(color.red), green: rounded(color.green), blue: rounded(color.blue))))
            }
            return makeRow(field, control)
        }
    }

    private func makeRow(_ field: ProcessorField, _ control: ObjectPointer, unit: String = "") -> ObjectPointer {
        .row(field.title, subtitle: unit, control, name: "\(field.title), \(kind.title)")
    }

    private func makeSlider(
        _ field: ProcessorField, _ range: ClosedRange<Double>, _ digits: Int, _ unit: String
    ) -> ObjectPointer {
        let step = pow(10, -Double(digits))
        let scale = ObjectPointer(
            gtk_scale_new_with_range(GTK_ORIENTATION_HORIZONTAL, range.lowerBound, range.upperBound, step))
        gtk_scale_set_digits(scale.as(), gint(digits))
        gtk_scale_set_draw_value(scale.as(), 1)
        gtk_scale_set_value_pos(scale.as(), GTK_POS_RIGHT)
        gtk_range_set_increments(scale.as(), step, step * 10)
        gtk_range_set_value(scale.as(), values.number(field.name))
        scale.sized(160, -1).set("hexpand", true)
        scale.onSignal("value-changed") { [weak self] in
            let value = Self.rounded(gtk_range_get_value(scale.as()), digits: digits)
            self?.change(field, to: .number(value))
        }
        return makeRow(field, scale, unit: unit)
    }

    private func makeMenu(_ field: ProcessorField, _ titles: [String]) -> ObjectPointer {
        let row = ObjectPointer.menuRow(field.title, titles)
        row.set("selected", values.choice(field.name))
        row.onChange(of: "selected") { [weak self] in self?.change(field, to: .choice(row.get("selected"))) }
        return row
    }

    /// The number that the slider shows, which is also the number in the code.
    private nonisolated static func rounded(_ value: Double, digits: Int) -> Double {
        let factor = pow(10, Double(digits))
        return (value * factor).rounded() / factor
    }
}
