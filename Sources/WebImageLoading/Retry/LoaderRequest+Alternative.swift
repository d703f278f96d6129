package import FoundationEssentials

extension LoaderRequest {
    /// The same request at another URL.
    ///
    /// Conditions stay behind: they are about what the first URL has. So does a range that is to continue it. Another origin
    /// sees no credentials, cookies and headers of the caller or the loader, as after a redirect; a name and password in `url`
    /// itself are for its server.
    package func alternative(_ url: URL) -> LoaderRequest {
        var other = self
        other.url = url
        let names = Set(headers.keys.map { $0.lowercased() })
        let isContinuation = names.contains("if-range")
        let isSameOrigin = HTTPOrigin(url) != nil && HTTPOrigin(url) == HTTPOrigin(self.url)
        other.headers = headers.filter { field in
            let name = field.key.lowercased()
            if name == "range" { return !isContinuation }
            if HTTPField.conditionNames.contains(name) { return false }
            return isSameOrigin || RequestHeaders.namesForAnyOrigin.contains(name) && name != RequestHeaders.proxyName
        }
        if !isSameOrigin {
            other.credential = nil
            other.isForAnotherOrigin = true
        }
        return other
    }
}
