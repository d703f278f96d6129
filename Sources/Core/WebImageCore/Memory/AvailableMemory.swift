internal import Glibc

/// The memory that the process may use, and how much of it is free, as reported by the kernel.
///
/// A lower limit of a control group of the process (as in containers) takes precedence over the machine's memory.
package enum AvailableMemory {
    static let warningFraction = 0.1
    static let criticalFraction = 0.05

    /// The machine's memory, in bytes.
    package static var physicalBytes: Int { sysconf(Int32(_SC_PHYS_PAGES)) * sysconf(Int32(_SC_PAGESIZE)) }

    /// The total memory that the process may use, in bytes.
    ///
    /// - Parameter fileSystemRoot: a prefix for `/proc` and `/sys`, for tests.
    package static func totalBytes(
        physicalBytes: Int = AvailableMemory.physicalBytes, fileSystemRoot: String = ""
    ) -> Int {
        ControlGroup.ofProcess(fileSystemRoot: fileSystemRoot).reduce(physicalBytes) { min($0, $1.limit ?? $0) }
    }

    /// The memory that the process can allocate now without stalls, in bytes;
    /// ``totalBytes(physicalBytes:fileSystemRoot:)`` if unknown.
    package static func freeBytes(
        physicalBytes: Int = AvailableMemory.physicalBytes, fileSystemRoot: String = ""
    ) -> Int {
        // In kB.
        let machine = TextFile.numbers("\(fileSystemRoot)/proc/meminfo")["MemAvailable"].map { $0 &* 1024 }
        var free = min(machine ?? physicalBytes, physicalBytes)
        for group in ControlGroup.ofProcess(fileSystemRoot: fileSystemRoot) {
            guard let limit = group.limit else { continue }
            free = min(free, limit - (group.workingSet ?? 0))
        }
        return max(0, free)
    }

    /// The pressure level of the current fraction; `nil` while a tenth is free.
    static func level(fileSystemRoot: String) -> MemoryPressureLevel? {
        switch fraction(fileSystemRoot: fileSystemRoot) {
        case ..<criticalFraction: .critical
        case ..<warningFraction: .warning
        default: nil
        }
    }

    /// The smallest free fraction among the machine's memory and the limits of the process's control groups; 1 if
    /// unknown.
    static func fraction(fileSystemRoot: String) -> Double {
        var fraction = 1.0
        // Both in kB.
        let machine = TextFile.numbers("\(fileSystemRoot)/proc/meminfo")
        if let total = machine["MemTotal"], let available = machine["MemAvailable"], total > 0 {
            fraction = Double(available) / Double(total)
        }
        for group in ControlGroup.ofProcess(fileSystemRoot: fileSystemRoot) {
            guard let limit = group.limit, let workingSet = group.workingSet else { continue }
            fraction = min(fraction, 1 - Double(workingSet) / Double(limit))
        }
        return max(0, fraction)
    }
}

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
