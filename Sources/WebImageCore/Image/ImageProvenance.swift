/// The origin of an image's bytes. All images made from the same bytes share one provenance, whatever their size, so
/// that new knowledge about the bytes applies to all of them.
package protocol ImageProvenance: AnyObject, Sendable {
    /// Whether newer bytes have come from the same source. Caches must then no longer serve the image.
    var isSuperseded: Bool { get }
    /// Whether the image may be valid for only some requests to its source. Usually it is valid for all of them, and
    /// header fields need not be compared.
    var mayDependOnRequest: Bool { get }
}
