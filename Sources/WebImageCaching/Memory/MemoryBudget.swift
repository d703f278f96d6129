internal import WebImageCore

/// How much memory a cache of images may take by default.
public enum MemoryBudget {
    /// 20 % of the memory available to the process, at most 1 GiB, in bytes.
    ///
    /// That is the machine's memory, or the limit of the process's control group (as containers have) where it is
    /// lower.
    public static func defaultImageCost() -> Int { min(AvailableMemory.totalBytes() / 5, 1 << 30) }
}
