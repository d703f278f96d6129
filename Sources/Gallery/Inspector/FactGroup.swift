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
