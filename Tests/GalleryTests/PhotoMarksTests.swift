import Foundation
import XCTest

@testable import Gallery

/// Stars and tags in the text of XMP.
final class PhotoMarksTests: XCTestCase {
    private static func packet(_ description: String, head: String = "") throws -> XMPPacket {
        try XMPPacket(
            Array(
                """
                \(head)<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
                \(description)
                </rdf:RDF></x:xmpmeta>
                """.utf8))
    }

    private static let names =
        #"xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/" "#
        + #"xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/""#

    private static func text(_ packet: XMPPacket) -> String { String(decoding: packet.bytes, as: UTF8.self) }

    func testReadsAttributesAndElements() throws {
        let attribute = try Self.packet(
            #"<rdf:Description \#(Self.names) xmp:Rating="4" photoshop:City="Bern" photoshop:Country='Schweiz'/>"#)
        XCTAssertEqual(attribute.marks, PhotoMarks(stars: 4, tags: nil, placeName: "Bern, Schweiz"))
        let element = try Self.packet(
            """
            <rdf:Description \(Self.names)><xmp:Rating> 2 </xmp:Rating>
            <dc:subject><rdf:Bag><rdf:li>Berge &amp; Seen</rdf:li><rdf:li><![CDATA[<b>]]></rdf:li><rdf:li>&#xE9;t&#233;</rdf:li>
            </rdf:Bag></dc:subject></rdf:Description>
            """)
        XCTAssertEqual(element.marks, PhotoMarks(stars: 2, tags: ["Berge & Seen", "<b>", "été"]))
        let rejected = try Self.packet(#"<rdf:Description \#(Self.names) xmp:Rating="-1"/>"#)
        XCTAssertEqual(rejected.marks.stars, -1)
        XCTAssertEqual(try Self.packet("<rdf:Description/>").marks, PhotoMarks())
    }

    func testAPrefixMeansItsNamespace() throws {
        // Another one of the same name is another property.
        let packet = try Self.packet(
            #"<rdf:Description xmlns:xmp="urn:other" xmp:Rating="5" xmlns:a="http://ns.adobe.com/xap/1.0/" a:Rating="3"/>"#
        )
        XCTAssertEqual(packet.marks.stars, 3)
    }

    func testAllElseStaysByteForByte() throws {
        let other = #"<rdf:Description \#(Self.names) xmlns:crs="urn:crs" crs:Exposure = "+0.50">"#
        let history = "<!-- kept --><crs:Curve><rdf:Seq><rdf:li>0, 0</rdf:li></rdf:Seq></crs:Curve>"
        var packet = try Self.packet(
            "\(other)\n<xmp:Rating>1</xmp:Rating>\n\(history)</rdf:Description>", head: "<?xpacket begin=\"\"?>")
        try packet.setStars(5)
        try packet.setTags(["Berge", "A & <B>"])
        XCTAssertEqual(packet.marks, PhotoMarks(stars: 5, tags: ["Berge", "A & <B>"]))
        let text = Self.text(packet)
        XCTAssertTrue(text.hasPrefix("<?xpacket begin=\"\"?><x:xmpmeta"))
        XCTAssertTrue(text.contains(other) && text.contains("\n\(history)</rdf:Description>"), text)
        XCTAssertEqual(text.components(separatedBy: "</xmp:Rating>").count, 2, "one element")
        try packet.setTags([])
        XCTAssertEqual(packet.marks.tags, [], "none, also if the image file has some")
    }

    func testPropertiesInAttributesAndSingleTagsChange() throws {
        var packet = try Self.packet(#"<rdf:Description rdf:about="" \#(Self.names) xmp:Rating="1" xmp:Label="Red"/>"#)
        try packet.setStars(0)
        XCTAssertEqual(packet.marks.stars, 0)
        XCTAssertTrue(Self.text(packet).contains(#"xmp:Label="Red">"#), Self.text(packet))
        XCTAssertFalse(Self.text(packet).contains(#"xmp:Rating="#))
    }

    func testHostileTextsAreRefused() throws {
        let laughs = #"<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>"#
        let deep = String(repeating: "<a>", count: 10_000) + String(repeating: "</a>", count: 10_000)
        let wide = String(repeating: "<a/>", count: XMLReader.elementLimit + 1)
        for (description, head) in [
            ("<rdf:Description/>", laughs), ("<rdf:Description>&unknown;</rdf:Description>", ""),
            (#"<rdf:Description a="&#0;"/>"#, ""), ("<rdf:Description>\(deep)</rdf:Description>", ""),
            ("<rdf:Description>\(wide)</rdf:Description>", ""), ("<rdf:Description>", ""),
            ("<rdf:Description></rdf:Other>", ""), (#"<rdf:Description a="1" a="2"/>"#, ""),
            (#"<rdf:Description a="<"/>"#, ""), (#"<rdf:Description a="1"b="2"/>"#, ""),
            ("<other:Description/>", ""), ("<rdf:Description/>", #"<?xml version="1.0" encoding="UTF-16"?>"#),
        ] { XCTAssertThrowsError(try Self.packet(description, head: head), description.prefix(60).description) }
        for bytes in [[], [0xFF, 0xFE, 0x3C], Array("<html></html>".utf8), Array("<a/><b/>".utf8), Array("<".utf8)] {
            XCTAssertThrowsError(try XMPPacket(bytes))
        }
    }

    func testAnyCutAndAnyByteIsReadOrRefused() throws {
        let whole = try Self.packet(
            #"<rdf:Description \#(Self.names) xmp:Rating="4"><dc:subject><rdf:Bag><rdf:li>a&amp;b</rdf:li></rdf:Bag></dc:subject></rdf:Description>"#
        ).bytes
        for length in whole.indices {
            _ = try? XMPPacket(Array(whole[..<length]))
            var damaged = whole
            damaged[length] = UInt8(ascii: "<")
            if var packet = try? XMPPacket(damaged) { try? packet.setStars(3) }
            damaged[length] = UInt8(ascii: "\"")
            if var packet = try? XMPPacket(damaged) { try? packet.setTags(["a"]) }
        }
    }

    func testTagsOfATextAreThereOnce() {
        XCTAssertEqual(PhotoMarks.tags(in: " Berge, see,, SEE ,\nWald "), ["Berge", "see", "Wald"])
        XCTAssertEqual(PhotoMarks.tags(in: " ,"), [])
    }
}
