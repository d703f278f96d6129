internal import WebImageCore

/// The pages of a long file that is read in place from its beginning to its end. They are given back after they were read, so that the file is
/// never in memory as a whole.
struct FilePages: Sendable {
    private var releasedCount = 0

    /// Gives back what is before `offset`, from time to time.
    mutating func release(before offset: Int, of data: RawSpan) {
        guard offset - releasedCount >= Self.stepByteCount else { return }
        data.extracting(releasedCount..<offset).withUnsafeBytes { _ = MappedFile.release($0) }
        releasedCount = offset
    }

    static let stepByteCount = 4 << 20
}
