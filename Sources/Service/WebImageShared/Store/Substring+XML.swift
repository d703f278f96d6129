extension Substring {
    /// Returns the texts between two tags. S3's documents have no attributes and no nested elements of one name.
    func components(between start: String, and end: String) -> [Substring] {
        var result: [Substring] = []
        var rest = utf8
        while let first = rest.firstIndex(of: start), let last = rest[first...].firstIndex(of: end) {
            result.append(Substring(rest[rest.index(first, offsetBy: start.utf8.count)..<last]))
            rest = rest[rest.index(last, offsetBy: end.utf8.count)...]
        }
        return result
    }

    var withoutEntities: String {
        [("&quot;", "\""), ("&lt;", "<"), ("&gt;", ">"), ("&apos;", "'"), ("&amp;", "&")]
            .reduce(String(self)) { $0.replacing($1.0, with: $1.1) }
    }
}

extension Substring.UTF8View {
    /// Returns where a tag begins.
    fileprivate func firstIndex(of tag: String) -> Index? {
        var index = startIndex
        while let start = self[index...].firstIndex(of: UInt8(ascii: "<")) {
            if self[start...].starts(with: tag.utf8) { return start }
            index = self.index(after: start)
        }
        return nil
    }
}
