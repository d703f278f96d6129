extension LoaderRequest {
    /// The request's identity: equal for requests with the same response, which can share a transfer. It contains
    /// everything except the time limits, the fragment and the tracing fields, with header names in lowercase.
    package var identity: LoaderRequest {
        var identity = self
        (identity.idleTimeout, identity.totalTimeout, identity.history) = (nil, nil, nil)
        identity.url = url.withoutFragment
        if !headers.isEmpty { identity.headers = headers.answerFields.mapValues(\.value) }
        return identity
    }
}

extension [String: String] {
    /// The fields that may change the response, by lowercase name: all except the tracing fields.
    var answerFields: [String: HTTPField] { fieldsByName.filter { !HTTPField.tracingNames.contains($0.key) } }
}
