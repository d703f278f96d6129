import CodingTestSupport
import Foundation
import Testing
import WebImageCore

@testable import WebImageCoding

@Suite(.timeLimit(.minutes(1))) struct GainMapMetadataTests {
    private func metadata(_ iso: [UInt8]) -> GainMapMetadata? { GainMapMetadata(iso: iso) }

    private func metadata(xmp: String) -> GainMapMetadata? { GainMapMetadata(xmp: XMPPacket(Array(xmp.utf8))) }

    @Test func readsTheStructureOfTheStandard() throws {
        let read = try #require(metadata(GainMapFiles.iso()))
        #expect(read.baseHeadroom.value == 0 && read.alternateHeadroom.value == 3 && read.usesBaseColors)
        let channel = try #require(read.channels.first)
        #expect(read.channels.count == 1)
        #expect(channel.minimum.value == -1 && channel.maximum.value == 3 && channel.gamma.value == 1.5)
        #expect(channel.baseOffset.value == 1 / 64 && channel.alternateOffset.value == 1 / 32)
        #expect(metadata(GainMapFiles.iso(flags: 0x80, channels: 3))?.channels.count == 3)
        #expect(metadata(GainMapFiles.iso(flags: 0x80, channels: 3))?.usesBaseColors == false)
    }

    @Test(arguments: [(0x40, 1), (0xC0, 3), (0x80, 3)]) func writesWhatItReads(flags: Int, channels: Int) throws {
        let bytes = GainMapFiles.iso(flags: UInt8(flags), channels: channels)
        #expect(metadata(bytes)?.iso == bytes)
    }

    @Test func readsDraftsWithOneDenominator() throws {
        var bytes: [UInt8] = [0, 0, 0, 0, 0x48]
        for number in [64, 0, 192, -64, 192, 96, 1, 2] { bytes += GainMapFiles.big(number, 4) }
        #expect(
            metadata(bytes)?.channels
                == metadata(GainMapFiles.iso())?.channels.map { channel in
                    var channel = channel
                    channel.minimum = Fraction(-64, 64) ?? channel.minimum
                    channel.maximum = Fraction(192, 64) ?? channel.maximum
                    channel.gamma = Fraction(96, 64) ?? channel.gamma
                    channel.alternateOffset = Fraction(2, 64) ?? channel.alternateOffset
                    return channel
                })
    }

    @Test func readsNothingOfATruncatedOrLongerStructure() {
        let bytes = GainMapFiles.iso(flags: 0xC0, channels: 3)
        for length in 0..<bytes.count { #expect(metadata(Array(bytes[..<length])) == nil, "\(length) bytes") }
        #expect(metadata(bytes + [0]) == nil)
        // A later version may have more.
        var later = bytes + [0]
        later[3] = 1
        #expect(metadata(later) != nil)
        later[1] = 1
        #expect(metadata(later) == nil)
    }

    @Test func refusesNumbersThatAreNone() {
        let bytes = GainMapFiles.iso()
        // Denominators: those of the headrooms, and those of the channel.
        for offset in [9, 17] + (0..<5).map({ 25 + $0 * 8 }) {
            var changed = bytes
            changed.replaceSubrange(offset..<offset + 4, with: [0, 0, 0, 0])
            #expect(metadata(changed) == nil, "at \(offset)")
        }
        // A minimum above the maximum, and no gamma.
        for (offset, number) in [(21, 4), (37, 0)] {
            var changed = bytes
            changed.replaceSubrange(offset..<offset + 4, with: GainMapFiles.big(number, 4))
            #expect(metadata(changed) == nil, "at \(offset)")
        }
    }

    @Test func xmpSaysTheSame() throws {
        let (iso, xmp) = (metadata(GainMapFiles.iso()), metadata(xmp: GainMapFiles.mapXMP))
        #expect(xmp?.channels.map(\.values) == iso?.channels.map(\.values))
        #expect(xmp?.alternateHeadroom.value == 3 && xmp?.baseHeadroom.value == 0 && xmp?.usesBaseColors == true)
    }

    @Test func xmpHasListsAndElements() throws {
        let read = try #require(
            metadata(
                xmp: """
                    <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description
                    xmlns:g="http://ns.adobe.com/hdr-gain-map/1.0/" g:HDRCapacityMax="2.5">
                    <g:Version>1.0</g:Version><g:BaseRenditionIsHDR>False</g:BaseRenditionIsHDR>
                    <g:GainMapMax><rdf:Seq><rdf:li> 1.206404 </rdf:li><rdf:li>2</rdf:li><rdf:li>3</rdf:li></rdf:Seq></g:GainMapMax>
                    </rdf:Description></rdf:RDF>
                    """))
        #expect(read.channels.map(\.maximum.value) == [1.206404, 2, 3])
        #expect(read.channels.map(\.gamma.value) == [1, 1, 1])
        #expect(read.channels.map(\.baseOffset.value) == [Double](repeating: 1 / 64, count: 3))
        #expect(read.alternateHeadroom.value == 2.5)
    }

    @Test func anHDRImageHasAMapThatMakesItDarker() throws {
        let text = GainMapFiles.mapXMP.replacing("hdrgm:Version", with: "hdrgm:BaseRenditionIsHDR='True' hdrgm:Version")
        let read = try #require(metadata(xmp: text))
        #expect(!read.brightens && read.baseHeadroom.value == 3 && read.alternateHeadroom.value == 0)
        #expect(read.channels.first?.baseOffset.value == 0.03125)
    }

    @Test(arguments: ["hdrgm:HDRCapacityMax='3'", "hdrgm:GainMapMax='3'", "hdrgm:Version='1.0'"])
    func xmpNeedsWhatHasNoDefault(property: String) {
        #expect(metadata(xmp: GainMapFiles.mapXMP.replacing(property, with: "")) == nil)
    }

    @Test(arguments: ["nan", "inf", "1e300", "-", "0x"]) func xmpRefusesNumbersThatAreNone(number: String) {
        #expect(
            metadata(xmp: GainMapFiles.mapXMP.replacing("hdrgm:GainMapMax='3'", with: "hdrgm:GainMapMax='\(number)'"))
                == nil)
    }

    @Test func writtenXMPSaysTheSame() throws {
        for bytes in [GainMapFiles.iso(), GainMapFiles.iso(flags: 0xC0, channels: 3)] {
            var original = try #require(metadata(bytes))
            if original.channels.count == 3 { original.channels[1].maximum = try #require(Fraction(7, 3)) }
            let again = try #require(metadata(xmp: String(decoding: original.xmp, as: UTF8.self)))
            #expect(again.alternateHeadroom.value == original.alternateHeadroom.value)
            for (new, old) in zip(again.channels, original.channels) {
                for (first, second) in zip(new.values, old.values) { #expect(abs(first - second) < 1e-8) }
            }
        }
    }

    @Test func everyCutOfAPacketIsHarmless() {
        let bytes = Array(GainMapFiles.mapXMP.utf8)
        for length in 0..<bytes.count { _ = GainMapMetadata(xmp: XMPPacket(Array(bytes[..<length]))) }
    }
}

extension GainMapMetadata.Channel {
    fileprivate var values: [Double] { [minimum, maximum, gamma, baseOffset, alternateOffset].map(\.value) }
}
