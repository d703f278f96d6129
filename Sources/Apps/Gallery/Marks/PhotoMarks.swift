/// What people note about a photograph: stars, tags and the name of its place. A value is `nil` where nothing is noted.
struct PhotoMarks: Sendable, Equatable {
    /// 0 to 5, or -1 for a rejected photograph.
    var stars: Int?
    var tags: [String]?
    /// Such as `Lauterbrunnen, Bern, Switzerland`. It is read only.
    var placeName: String?

    /// These marks, with those of `other` where there are none.
    func completed(by other: PhotoMarks) -> PhotoMarks {
        PhotoMarks(
            stars: stars ?? other.stars, tags: tags ?? other.tags, placeName: placeName ?? other.placeName)
    }

    /// Returns the tags of a text, in which commas separate them, each once.
    static func tags(in text: String) -> [String] {
        var known: Set<String> = []
        return text.split(whereSeparator: { $0 == "," || $0.isNewline }).map { String($0).trimmed }
            .filter { !$0.isEmpty && known.insert($0.lowercased()).inserted }
    }
}
