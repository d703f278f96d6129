/// A control group that contains the process, directly or through a subgroup, with its memory accounting.
struct ControlGroup {
    /// The directory with the group's files.
    let folder: String
    /// Whether it is of version 2, the unified hierarchy.
    let isUnified: Bool

    /// Returns all groups above the process's own group, and that group last.
    ///
    /// - Parameter fileSystemRoot: a prefix for `/proc` and `/sys`, for tests.
    static func ofProcess(fileSystemRoot: String) -> [ControlGroup] {
        var groups: [ControlGroup] = []
        // A line is "hierarchy:controllers:path"; version 2 has hierarchy 0 and no controllers.
        for line in TextFile.contents("\(fileSystemRoot)/proc/self/cgroup")?.split(separator: "\n") ?? [] {
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3 else { continue }
            let isUnified = fields[0] == "0" && fields[1].isEmpty
            guard isUnified || fields[1].split(separator: ",").contains("memory") else { continue }
            var folder = "\(fileSystemRoot)/sys/fs/cgroup\(isUnified ? "" : "/memory")"
            groups.append(ControlGroup(folder: folder, isUnified: isUnified))
            for component in fields[2].split(separator: "/") {
                folder += "/\(component)"
                groups.append(ControlGroup(folder: folder, isUnified: isUnified))
            }
        }
        return groups
    }

    /// The memory limit in bytes.
    var limit: Int? {
        // Version 2 uses "max" for no limit, version 1 a number near 2^63.
        number(in: isUnified ? "memory.max" : "memory.limit_in_bytes")
    }

    /// The memory that the group cannot easily release, in bytes: its usage without inactive file pages.
    var workingSet: Int? {
        guard let used = number(in: isUnified ? "memory.current" : "memory.usage_in_bytes") else { return nil }
        let inactive = TextFile.numbers("\(folder)/memory.stat")[isUnified ? "inactive_file" : "total_inactive_file"]
        return max(0, used - (inactive ?? 0))
    }

    private func number(in file: String) -> Int? {
        guard let text = TextFile.contents("\(folder)/\(file)")?.prefix(while: { !$0.isWhitespace }),
            let number = Int(text), number > 0
        else { return nil }
        return number
    }
}
