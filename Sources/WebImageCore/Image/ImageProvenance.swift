/// Where a picture's bytes came from. All pictures made of the same bytes share one, whatever their size, so that what
/// becomes known about the bytes is known about all of them.
package protocol ImageProvenance: AnyObject, Sendable {
    /// Whether newer bytes have come from the same place: then no cache may answer with such a picture any more.
    var isSuperseded: Bool { get }
    /// Whether it may be the answer to some requests for that place and not to others. Mostly it is the answer to all, and then
    /// nobody has to look at their header fields.
    var mayDependOnRequest: Bool { get }
}
