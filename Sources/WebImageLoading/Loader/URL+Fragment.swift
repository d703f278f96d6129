package import FoundationEssentials

extension URL {
    /// The URL without its fragment, which is not sent to servers. URLs with custom schemes keep it, since it may
    /// matter to their loader.
    package var withoutFragment: URL {
        let text = absoluteString
        guard let end = fragmentStart(in: text) else { return self }
        return URL(string: String(text[..<end])) ?? self
    }

    /// Like ``withoutFragment``, for a URL whose `absoluteString` is `text`.
    package func withoutFragment(_ text: String) -> String {
        fragmentStart(in: text).map { String(text[..<$0]) } ?? text
    }

    private func fragmentStart(in text: String) -> String.Index? {
        guard let start = text.utf8.firstIndex(of: UInt8(ascii: "#")),
            let scheme = scheme?.lowercased(), ["http", "https", "file", "data"].contains(scheme)
        else { return nil }
        return start
    }
}
