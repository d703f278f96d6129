import CWebImageAdwaita
import CWebImageGTK
import GTKObjects
import WebImageGTK

/// A thing that the inspector tells, such as the format of a file.
struct Fact: Hashable, Sendable {
    let title: String
    let value: String

    init(_ title: String, _ value: String) { (self.title, self.value) = (title, value) }
}

/// Facts under a heading.
struct FactGroup: Hashable, Sendable {
    let title: String
    /// A sentence below the title; empty for none.
    var description = ""
    var facts: [Fact] = []
    /// Whether the facts are shown only when the group is opened, such as long lists of headers.
    var isFolded = false

    /// `Title`, and a line for each fact.
    var text: String {
        ([description.isEmpty ? title : "\(title): \(description)"] + facts.map { "  \($0.title): \($0.value)" })
            .joined(separator: "\n")
    }
}

/// Shows a group of facts as rows of libadwaita.
@MainActor final class FactGroupView {
    let widget: ObjectPointer
    let group: FactGroup

    init(_ group: FactGroup) {
        self.group = group
        if group.isFolded {
            let expander = ObjectPointer(adw_expander_row_new()).set("title", group.title.escapedMarkup)
                .set("subtitle", group.description.escapedMarkup)
            for fact in group.facts { adw_expander_row_add_row(expander.as(), Self.row(fact).widget) }
            widget = .group("", [expander])
        } else {
            widget = .group(group.title, description: group.description, group.facts.map(Self.row))
        }
    }

    private static func row(_ fact: Fact) -> ObjectPointer {
        let row = ObjectPointer.factRow(fact.title, fact.value)
        // Long values wrap; they are never cut.
        row.set("title-lines", 0).set("subtitle-lines", 0)
        return row
    }
}
