import FoundationEssentials
import WebImageLoading

/// The beginning of a body that is still arriving.
///
/// It costs nothing until somebody wants to see it, and then no copy: it shares the memory, or the file, into which the
/// rest is being put. After a failed attempt the body begins anew, in another collector.
struct PartialBody: Sendable {
    let collector: BodyCollector
    /// How much there was when this was made.
    let byteCount: Int

    /// The bytes; of a body on its way to a file only those that have been written.
    var data: Data { collector.prefix(byteCount) }
}
