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
        ControlGroup.ofProcess(fileSystemRoot: fileSystemRoot).reduce(physicalBytes) { min($0, $1.limit ?? $0) }
    }

    private static var physicalBytes: Int { sysconf(Int32(_SC_PHYS_PAGES)) * sysconf(Int32(_SC_PAGESIZE)) }
}
