extension CodecRegistry {
    /// The `Accept` header for a server that can choose a format (RFC 9110, 12.5.1): ``readableFormats`` in their order, then
    /// whatever else it may have.
    public var acceptHeader: String {
        (readableFormats.map(\.mimeType) + ["image/*;q=0.8", "*/*;q=0.5"]).joined(separator: ",")
    }
}
