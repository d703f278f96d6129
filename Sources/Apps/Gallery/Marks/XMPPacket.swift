/// The text of XMP, in which stars and tags can be read and changed. All else stays as it is, byte for byte.
///
///     rdf:RDF
///      └─ rdf:Description  xmp:Rating="4"            or as an element
///          ├─ dc:subject ─ rdf:Bag ─ rdf:li …        the tags
///          └─ photoshop:City, State, Country; Iptc4xmpCore:Location
struct XMPPacket: Sendable {
    typealias Failure = XMLReader.Failure
    typealias Name = XMLElement.Name

    private(set) var bytes: [UInt8]
    private var elements: [XMLElement]

    private static let rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    private static let photoshop = "http://ns.adobe.com/photoshop/1.0/"
    private static let description = Name(namespace: rdf, local: "Description")
    private static let rating = Name(namespace: "http://ns.adobe.com/xap/1.0/", local: "Rating")
    private static let subject = Name(namespace: "http://purl.org/dc/elements/1.1/", local: "subject")
    private static let placeNames = [
        Name(namespace: "http://iptc.org/std/Iptc4xmpCore/1.0/xmlns/", local: "Location"),
        Name(namespace: photoshop, local: "City"), Name(namespace: photoshop, local: "State"),
        Name(namespace: photoshop, local: "Country"),
    ]

    init(_ bytes: [UInt8]) throws(Failure) {
        // Packets in files end with white space for changes, and some with a zero.
        self.bytes = Array(bytes.prefix { $0 != 0 })
        elements = try XMLReader.elements(of: self.bytes)
        guard elements.contains(where: { $0.name == Name(namespace: Self.rdf, local: "RDF") }) else {
            throw Failure(description: localized("It is not XMP."))
        }
    }

    /// A packet without marks, for a new file.
    static var empty: XMPPacket {
        get throws(Failure) {
            try XMPPacket(
                Array(
                    """
                    <?xml version="1.0" encoding="UTF-8"?>
                    <x:xmpmeta xmlns:x="adobe:ns:meta/">
                     <rdf:RDF xmlns:rdf="\(rdf)">
                      <rdf:Description rdf:about="">
                      </rdf:Description>
                     </rdf:RDF>
                    </x:xmpmeta>

                    """.utf8))
        }
    }

    // MARK: Reading

    var marks: PhotoMarks {
        let places = Self.placeNames.compactMap { text(of: $0) }.filter { !$0.isEmpty }
        return PhotoMarks(
            stars: text(of: Self.rating).flatMap(Double.init).flatMap(Self.stars), tags: tags,
            placeName: places.isEmpty ? nil : places.joined(separator: ", "))
    }

    private static func stars(_ number: Double) -> Int? { number.isFinite ? Int(min(max(number, -1), 5)) : nil }

    /// The elements that describe the photograph itself.
    private var descriptions: [Int] {
        elements.indices.filter { index in
            elements[index].name == Self.description
                && elements[index].parent.map { elements[$0].name.local == "RDF" } == true
        }
    }

    private func children(of index: Int, named name: Name) -> [Int] {
        elements.indices.filter { elements[$0].parent == index && elements[$0].name == name }
    }

    /// A simple property, as an attribute or as an element, also with texts in several languages.
    private func text(of name: Name) -> String? {
        for index in descriptions {
            if let value = elements[index][name]?.value { return value.trimmed }
            for child in children(of: index, named: name) {
                let texts = [child] + elements.indices.filter { isInside($0, child) }
                return texts.map { elements[$0].text.trimmed }.first { !$0.isEmpty }
            }
        }
        return nil
    }

    private var tags: [String]? {
        let subjects = descriptions.flatMap { children(of: $0, named: Self.subject) }
        guard !subjects.isEmpty else { return nil }
        let item = Name(namespace: Self.rdf, local: "li")
        let texts = elements.indices.filter { index in
            elements[index].name == item && subjects.contains { isInside(index, $0) }
        }
        return texts.map { elements[$0].text.trimmed }.filter { !$0.isEmpty }
    }

    private func isInside(_ index: Int, _ outer: Int) -> Bool {
        var parent = elements[index].parent
        while let current = parent {
            if current == outer { return true }
            parent = elements[current].parent
        }
        return false
    }

    // MARK: Changes

    /// Sets the stars, in place of those of the packet.
    mutating func setStars(_ stars: Int) throws(Failure) {
        let text = "<xmp:Rating xmlns:xmp=\"\(Self.rating.namespace)\">\(stars)</xmp:Rating>"
        try replace(Self.rating, with: text)
    }

    /// Sets the tags, in place of those of the packet. An empty list says that there are none, also where the image file has some.
    mutating func setTags(_ tags: [String]) throws(Failure) {
        let items = tags.map { "<rdf:li>\(Self.escaped($0))</rdf:li>" }.joined()
        let text =
            "<dc:subject xmlns:dc=\"\(Self.subject.namespace)\" xmlns:rdf=\"\(Self.rdf)\">"
            + "<rdf:Bag>\(items)</rdf:Bag></dc:subject>"
        try replace(Self.subject, with: text)
    }

    private static func escaped(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { result, scalar in
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            // XML has no other control characters.
            case _ where scalar.value < 0x20: result += " "
            default: result.unicodeScalars.append(scalar)
            }
        }
    }

    /// Removes a property wherever it is, and puts another text for it into the first description.
    private mutating func replace(_ name: Name, with text: String) throws(Failure) {
        guard let target = descriptions.first else {
            throw Failure(description: localized("The XMP describes nothing."))
        }
        var edits: [(place: Range<Int>, text: String)] = []
        for index in descriptions {
            edits += elements[index].attributes.filter { $0.name == name }.map { ($0.place, "") }
            edits += children(of: index, named: name).map { (withSpaceBefore(elements[$0].place), "") }
        }
        let element = elements[target]
        if element.isOneTag {
            let end = element.start.upperBound
            edits.append((end - 2..<end, ">\n   \(text)\n  </\(element.writtenName)>"))
        } else {
            edits.append((element.start.upperBound..<element.start.upperBound, "\n   \(text)"))
        }
        // From the end, so that the places before stay.
        for edit in edits.sorted(by: {
            ($0.place.lowerBound, $0.place.upperBound) > ($1.place.lowerBound, $1.place.upperBound)
        }) {
            bytes.replaceSubrange(edit.place, with: edit.text.utf8)
        }
        elements = try XMLReader.elements(of: bytes)
    }

    private func withSpaceBefore(_ place: Range<Int>) -> Range<Int> {
        var start = place.lowerBound
        while start > 0, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[start - 1]) { start -= 1 }
        return start..<place.upperBound
    }
}
