import Foundation
import Testing
import WebImageCore

@testable import WebImageCoding

@Suite(.timeLimit(.minutes(3))) struct XMPPacketTests {
    private func described(_ packet: String) throws -> String? {
        let metadata = ImageMetadata(xmp: Data(packet.utf8))
        return try metadata.describing(PixelSize(width: 64, height: 48), as: .jpeg).xmp.map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    /// As cameras with Ultra HDR write it.
    @Test func keepsAllButTheGainMap() throws {
        let packet = #"""
            <?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">
            <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
            <rdf:Description rdf:about="" xmlns:hdrgm="http://ns.adobe.com/hdr-gain-map/1.0/"
              xmlns:C="http://ns.google.com/photos/1.0/container/"
              xmlns:Item="http://ns.google.com/photos/1.0/container/item/"
              xmlns:dc="http://purl.org/dc/elements/1.1/" hdrgm:Version="1.0" dc:format="a > b">
            <hdrgm:GainMapMax><rdf:Seq><rdf:li>2</rdf:li></rdf:Seq></hdrgm:GainMapMax>
            <!-- <hdrgm:Gamma> is in a comment -->
            <C:Directory><rdf:Seq><rdf:li rdf:parseType="Resource"><C:Item Item:Semantic="Primary"/></rdf:li></rdf:Seq></C:Directory>
            <dc:title>Dunes</dc:title></rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>
            """#
        let expected = #"""
            <?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">
            <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
            <rdf:Description rdf:about=""
              xmlns:dc="http://purl.org/dc/elements/1.1/" dc:format="a > b">

            <!-- <hdrgm:Gamma> is in a comment -->

            <dc:title>Dunes</dc:title></rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>
            """#
        #expect(try described(packet) == expected)
    }

    @Test func describesTheNewPixels() throws {
        let packet = #"""
            <rdf:Description xmlns:t="http://ns.adobe.com/tiff/1.0/" t:Orientation='6' t:ImageWidth = "4000" exif:PixelXDimension="4000">
            <exif:PixelYDimension>3000</exif:PixelYDimension><t:ImageLength>3000</t:ImageLength>
            <exif:ColorSpace>65535</exif:ColorSpace><exif:PixelYDimensionNote>3000</exif:PixelYDimensionNote></rdf:Description>
            """#
        let expected = #"""
            <rdf:Description xmlns:t="http://ns.adobe.com/tiff/1.0/" t:Orientation='1' t:ImageWidth = "64" exif:PixelXDimension="64">
            <exif:PixelYDimension>48</exif:PixelYDimension><t:ImageLength>48</t:ImageLength>
            <exif:ColorSpace>1</exif:ColorSpace><exif:PixelYDimensionNote>3000</exif:PixelYDimensionNote></rdf:Description>
            """#
        #expect(try described(packet) == expected)
    }

    @Test func anElementWithoutAnEndMakesThePacketUnusable() throws {
        #expect(try described(#"<rdf:Description><hdrgm:GainMapMax><rdf:Seq>"#) == nil)
    }

    /// Cuts and changed bytes end reading, and never loop.
    @Test func damageIsHarmless() throws {
        let packet = #"<a hdrgm:x="1" t='2'/><!-- c --><?p q?><![CDATA[<]]><hdrgm:b>3</hdrgm:b><tiff:Orientation>6</c>"#
        for index in packet.utf8.indices {
            _ = try described(String(packet[..<index]))
            for other in ["<", ">", "\"", "=", "/", " ", "!"] {
                _ = try described(packet[..<index] + other + packet[packet.utf8.index(after: index)...])
            }
        }
    }
}
