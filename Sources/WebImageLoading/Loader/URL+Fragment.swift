package import FoundationEssentials

extension URL {
    /// The URL without its fragment, which no server is told; whole where its scheme is a program's own, whose loader is
    /// given all of it.
    package var withoutFragment: URL {
        let text = absoluteString
        guard let end = fragmentStart(in: text) else { return self }
        return URL(string: String(text[..<end])) ?? self
    }

    /// As ``withoutFragment``, of the text that is its `absoluteString`.
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
