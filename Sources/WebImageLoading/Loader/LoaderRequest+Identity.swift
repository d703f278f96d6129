extension LoaderRequest {
    /// The same for two requests that get the same answer, so that one transfer serves both: everything but the time limits,
    /// the fragment and the fields for tracing, with header names in lower case.
    package var identity: LoaderRequest {
        var identity = self
        (identity.idleTimeout, identity.totalTimeout, identity.history) = (nil, nil, nil)
        identity.url = url.withoutFragment
        if !headers.isEmpty { identity.headers = headers.answerFields.mapValues(\.value) }
        return identity
    }
}

extension [String: String] {
    /// The fields that may change an answer, by name in lower case: all but those for tracing.
    var answerFields: [String: HTTPField] { fieldsByName.filter { !HTTPField.tracingNames.contains($0.key) } }
}
