import Glibc

/// Rows that belong together; `make bench GROUP="name …"` runs some groups.
package struct BenchmarkGroup: Sendable {
    package let name: String
    package let run: @Sendable (inout BenchmarkTable) throws -> Void

    package init(name: String, run: @escaping @Sendable (inout BenchmarkTable) throws -> Void) {
        self.name = name
        self.run = run
    }

    /// Those of `groups` that the command line names, or all when it names none. A name's last part stands for all
    /// groups that end with it: "cache" for "memory-cache" and "disk-cache".
    ///
    /// Ends the program with status 2 when it names another.
    package static func named(on commandLine: [String], among groups: [BenchmarkGroup]) -> [BenchmarkGroup] {
        let names = commandLine.dropFirst()
        let unknown = names.filter { name in !groups.contains { $0.answers(to: name) } }
        guard unknown.isEmpty else {
            let known = groups.map(\.name)
            print("No group \(unknown.joined(separator: ", ")); there are \(known.joined(separator: ", ")).")
            exit(2)
        }
        return names.isEmpty ? groups : groups.filter { group in names.contains(where: group.answers) }
    }

    private func answers(to name: String) -> Bool { self.name == name || self.name.hasSuffix("-" + name) }
}
