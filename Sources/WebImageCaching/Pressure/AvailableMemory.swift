/// How much memory is left for the process, read from the kernel's accounts.
enum AvailableMemory {
    static let warningFraction = 0.1
    static let criticalFraction = 0.05

    /// What that means: nothing while a tenth is left.
    static func level(fileSystemRoot: String) -> MemoryPressureLevel? {
        switch fraction(fileSystemRoot: fileSystemRoot) {
        case ..<criticalFraction: .critical
        case ..<warningFraction: .warning
        default: nil
        }
    }

    /// The part that is left of the machine's memory, or of the limit of one of the process's control groups: the least of
    /// these; 1 where nothing is known.
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
