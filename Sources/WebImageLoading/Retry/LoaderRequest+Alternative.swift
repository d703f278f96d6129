package import FoundationEssentials

extension LoaderRequest {
    /// Returns the same request for another URL.
    ///
    /// Conditions are removed, since they apply to the first URL. So is a range that would continue its body. As after
    /// a redirect, another origin receives no credentials, cookies or headers of the caller or the loader. A user name
    /// and password in `url` itself are sent to its server.
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
