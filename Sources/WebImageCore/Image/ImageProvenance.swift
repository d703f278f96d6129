/// Where a picture's bytes came from. All pictures made of the same bytes share one, whatever their size, so that what
/// becomes known about the bytes is known about all of them.
package protocol ImageProvenance: AnyObject, Sendable {
    /// Whether newer bytes have come from the same place: then no cache may answer with such a picture any more.
    var isSuperseded: Bool { get }
}
