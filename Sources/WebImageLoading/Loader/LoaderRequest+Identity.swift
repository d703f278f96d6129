extension LoaderRequest {
    /// The same for two requests that get the same answer, so that one transfer does for both: everything but how long to
    /// wait, with the names of headers in lower case.
    package var identity: LoaderRequest {
        var identity = self
        identity.idleTimeout = nil
        if !headers.isEmpty { identity.headers = headers.fieldsByName.mapValues(\.value) }
        return identity
    }
}
