/// Lists of options by name.
struct Presets: Sendable {
    private let lists: [String: [Substring]]
    /// Whether paths name presets instead of options.
    let isOnlySource: Bool

    /// The preset of every request.
    static let defaultName = "default"

    /// - Parameter texts: options between slashes, by name.
    init(_ texts: [String: String], isOnlySource: Bool) {
        lists = texts.mapValues { $0.split(separator: "/") }
        self.isOnlySource = isOnlySource
    }

    func options(of name: String) -> [Substring]? { lists[name] }

    /// Checks that every preset can be read.
    func check() throws(Refusal) {
        for name in lists.keys.sorted() {
            var reader = OptionReader(presets: self)
            try reader.apply(presets: [Substring(name)])
        }
    }
}
