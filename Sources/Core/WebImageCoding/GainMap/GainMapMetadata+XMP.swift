internal import FoundationEssentials
internal import Glibc
internal import WebImageCore

// Adobe's properties of gain maps, which Ultra HDR has in XMP. Missing ones have defaults.
extension GainMapMetadata {
    init?(xmp packet: XMPPacket) {
        func numbers(_ property: String, default value: Double?) -> [Double]? {
            let texts = packet.values(of: property, in: .gainMap)
            if texts.isEmpty { return value.map { [$0] } }
            let numbers = texts.compactMap { Double($0) }
            return numbers.count == texts.count && [1, 3].contains(numbers.count) ? numbers : nil
        }
        guard !packet.values(of: "Version", in: .gainMap).isEmpty,
            let minima = numbers("GainMapMin", default: 0), let maxima = numbers("GainMapMax", default: nil),
            let gammas = numbers("Gamma", default: 1), let baseOffsets = numbers("OffsetSDR", default: 1 / 64),
            let alternateOffsets = numbers("OffsetHDR", default: 1 / 64),
            let base = numbers("HDRCapacityMin", default: 0)?.first.flatMap(Fraction.init),
            let alternate = numbers("HDRCapacityMax", default: nil)?.first.flatMap(Fraction.init)
        else { return nil }
        let lists = [minima, maxima, gammas, baseOffsets, alternateOffsets]
        var channels: [Channel] = []
        for index in 0..<(lists.map(\.count).max() ?? 1) {
            let fractions = lists.compactMap { Fraction($0.count == 1 ? $0[0] : $0[index]) }
            guard fractions.count == lists.count else { return nil }
            channels.append(
                Channel(
                    minimum: fractions[0], maximum: fractions[1], gamma: fractions[2], baseOffset: fractions[3],
                    alternateOffset: fractions[4]))
        }
        let isReversed = packet.values(of: "BaseRenditionIsHDR", in: .gainMap).first?.lowercased() == "true"
        if isReversed {
            for index in channels.indices { channels[index].exchangeOffsets() }
        }
        self.init(
            baseHeadroom: isReversed ? alternate : base, alternateHeadroom: isReversed ? base : alternate,
            channels: channels, usesBaseColors: true)
    }

    /// A packet for the file of the map.
    var xmp: Data {
        let properties: [(name: String, value: (Channel) -> Fraction)] = [
            ("GainMapMin", \.minimum), ("GainMapMax", \.maximum), ("Gamma", \.gamma), ("OffsetSDR", \.baseOffset),
            ("OffsetHDR", \.alternateOffset),
        ]
        var attributes = [
            "Version=\"1.0\"", "HDRCapacityMin=\"\(baseHeadroom.value)\"",
            "HDRCapacityMax=\"\(alternateHeadroom.value)\"",
            "BaseRenditionIsHDR=\"False\"",
        ]
        var elements = ""
        for (name, value) in properties {
            let numbers = channels.map { value($0).value }
            if Set(numbers).count == 1 {
                attributes.append("\(name)=\"\(numbers[0])\"")
            } else {
                let items = numbers.map { "<rdf:li>\($0)</rdf:li>" }.joined()
                elements += "<hdrgm:\(name)><rdf:Seq>\(items)</rdf:Seq></hdrgm:\(name)>"
            }
        }
        let description = """
            <rdf:Description rdf:about="" xmlns:hdrgm="\(XMPPacket.Namespace.gainMap.address)"\
            \(attributes.map { " hdrgm:\($0)" }.joined())>\(elements)</rdf:Description>
            """
        return XMPPacket.packet(of: description)
    }

    /// Returns the packet of an image with a gain map, which announces the map that follows.
    static func directory(mapByteCount: Int) -> String {
        typealias Namespace = XMPPacket.Namespace
        func item(_ attributes: String) -> String {
            """
            <rdf:li rdf:parseType="Resource"><Container:Item Item:Mime="image/jpeg" \(attributes)/></rdf:li>
            """
        }
        return """
            <rdf:Description rdf:about="" xmlns:hdrgm="\(Namespace.gainMap.address)" \
            xmlns:Container="\(Namespace.container.address)" xmlns:Item="\(Namespace.containerItem.address)" \
            hdrgm:Version="1.0"><Container:Directory><rdf:Seq>\(item("Item:Semantic=\"Primary\""))\
            \(item("Item:Semantic=\"GainMap\" Item:Length=\"\(mapByteCount)\""))</rdf:Seq></Container:Directory>\
            </rdf:Description>
            """
    }
}

extension GainMapMetadata.Channel {
    fileprivate mutating func exchangeOffsets() { (baseOffset, alternateOffset) = (alternateOffset, baseOffset) }
}

extension XMPPacket {
    /// Returns a packet with a description.
    static func packet(of description: String) -> Data {
        Data(
            """
            <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">\
            \(description)</rdf:RDF></x:xmpmeta>
            """.utf8)
    }
}
