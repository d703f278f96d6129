import FoundationEssentials
import WebImageGTK

/// Which photographs a search shows: those that meet all conditions.
struct SearchFilter: Sendable, Equatable {
    /// Words; each is in the name, in a tag, in the name of the place or of the camera.
    var text = "" { didSet { words = text.split(whereSeparator: \.isWhitespace).map { SearchText(String($0)) } } }
    private var words: [SearchText] = []
    /// The ending of the format's files, such as `jpg`; `nil` for all.
    var format: String?
    /// The first and the last day, as `2026`, `2026-05` or `2026-05-17`; empty for no limit.
    var firstDay = "", lastDay = ""
    /// In millions of pixels.
    var leastMegapixels = 0.0
    /// In bytes.
    var leastByteCount = 0
    var leastStars = 0
    /// Whether only photographs with a place are shown.
    var needsPlace = false

    /// Whether it shows all.
    var isEmpty: Bool { words.isEmpty && !needsFacts && format == nil }

    /// Whether more than names must be known.
    private var needsFacts: Bool {
        Self.bound(firstDay) != nil || Self.bound(lastDay) != nil || leastMegapixels > 0 || leastByteCount > 0
            || leastStars > 0 || needsPlace
    }

    /// How many conditions besides the text there are.
    var conditionCount: Int {
        [
            format != nil, Self.bound(firstDay) != nil || Self.bound(lastDay) != nil, leastMegapixels > 0,
            leastByteCount > 0, leastStars > 0, needsPlace,
        ].count { $0 }
    }

    /// - Parameters:
    ///   - name: the name of the file.
    ///   - facts: `nil` while they are unknown, which only a search for names and formats does without.
    func matches(name: SearchText, format: String?, _ facts: PhotoFacts?) -> Bool {
        if let wanted = self.format, wanted != format { return false }
        for word in words where !name.contains(word) {
            guard let facts, facts.notes.contains(word) else { return false }
        }
        guard needsFacts else { return true }
        guard let facts else { return false }
        return matchesDate(facts.date) && facts.stars >= leastStars && facts.byteCount >= leastByteCount
            && (!needsPlace || facts.hasPlace)
            && (leastMegapixels == 0
                || facts.size.map { Double($0.width) * Double($0.height) >= leastMegapixels * 1e6 } == true)
    }

    private func matchesDate(_ date: String?) -> Bool {
        let (first, last) = (Self.bound(firstDay), Self.bound(lastDay))
        guard first != nil || last != nil else { return true }
        guard let date else { return false }
        // A year contains all its days.
        return first.map { date >= $0 } ?? true && last.map { date.prefix($0.utf8.count) <= $0 } ?? true
    }

    /// Returns a day as EXIF writes it, in full or in part; `nil` for other texts.
    static func bound(_ text: String) -> String? {
        let parts = text.trimmed.split(whereSeparator: { "-./:".contains($0) }).map(String.init)
        guard (1...3).contains(parts.count), parts[0].utf8.count == 4 else { return nil }
        let limits = [0...9_999, 1...12, 1...31]
        var numbers: [String] = []
        for (part, limit) in zip(parts, limits) {
            guard let number = Int(part), limit.contains(number) else { return nil }
            numbers.append(numbers.isEmpty ? part : number < 10 ? "0\(number)" : "\(number)")
        }
        return numbers.joined(separator: ":")
    }
}
