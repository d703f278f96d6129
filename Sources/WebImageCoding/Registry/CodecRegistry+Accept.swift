extension CodecRegistry {
    /// The `Accept` header for a server that can choose a format (RFC 9110, 12.5.1): ``readableFormats`` in their order, then
    /// whatever else it may have.
    public var acceptHeader: String {
        let (known, decoders) = codecs.withLock { ($0.acceptHeader, $0.decoders) }
        if let known { return known }
        let types = Self.formats(of: decoders).map(\.mimeType) + ["image/*;q=0.8", "*/*;q=0.5"]
        let header = types.joined(separator: ",")
        codecs.withLock { codecs in
            // Not where another decoder has come meanwhile; none ever goes.
            if codecs.decoders.count == decoders.count { codecs.acceptHeader = header }
        }
        return header
    }
}
