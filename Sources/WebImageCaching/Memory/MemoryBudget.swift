internal import Glibc

/// How much memory a cache of images may take by default.
public enum MemoryBudget {
    /// 20 % of the memory available to the process, at most 1 GiB, in bytes.
    ///
    /// That is the machine's memory, or the limit of the process's control group (as containers have) where it is
    /// lower.
    public static func defaultImageCost() -> Int {
        min(availableBytes(physicalBytes: physicalBytes, fileSystemRoot: "") / 5, 1 << 30)
    }

    /// - Parameter fileSystemRoot: put in front of `/proc` and `/sys`, for tests.
    static func availableBytes(physicalBytes: Int, fileSystemRoot: String) -> Int {
        var limit = physicalBytes
        for path in limitFiles(fileSystemRoot: fileSystemRoot) {
            // Version 2 writes "max" for no limit, version 1 a number near 2^63.
            guard let text = contents(ofFile: path), let bytes = Int(text.trimmed), bytes > 0 else { continue }
            limit = min(limit, bytes)
        }
        return limit
    }

    private static var physicalBytes: Int { sysconf(Int32(_SC_PHYS_PAGES)) * sysconf(Int32(_SC_PAGESIZE)) }

    /// The files with the limits of the process's control group and of every group above it.
    private static func limitFiles(fileSystemRoot: String) -> [String] {
        var paths: [String] = []
        // A line is "hierarchy:controllers:path"; version 2 has hierarchy 0 and no controllers.
        let lines = contents(ofFile: "\(fileSystemRoot)/proc/self/cgroup")?.split(separator: "\n") ?? []
        for line in lines {
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3 else { continue }
            let (mount, file): (String, String)
            if fields[0] == "0", fields[1].isEmpty {
                (mount, file) = ("/sys/fs/cgroup", "memory.max")
            } else if fields[1].split(separator: ",").contains("memory") {
                (mount, file) = ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            } else {
                continue
            }
            var folder = "\(fileSystemRoot)\(mount)"
            paths.append("\(folder)/\(file)")
            for component in fields[2].split(separator: "/") {
                folder += "/\(component)"
                paths.append("\(folder)/\(file)")
            }
        }
        return paths
    }

    private static func contents(ofFile path: String) -> String? {
        guard let file = fopen(path, "re") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 16_384)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes[..<count], as: UTF8.self)
    }
}

extension String {
    fileprivate var trimmed: Substring { self.prefix { !$0.isWhitespace } }
}
