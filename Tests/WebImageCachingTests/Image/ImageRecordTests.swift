import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCaching

@Suite(.timeLimit(.minutes(3))) struct ImageRecordTests {
    private func record(scale: Double, isThumbnail: Bool = false, extendedData: Data? = nil) throws -> ImageRecord {
        var image = try solidImage()
        image.scale = scale
        image.isThumbnail = isThumbnail
        return ImageRecord(image, extendedData: extendedData)
    }

    @Test func roundTrips() throws {
        for extendedData in [nil, Data(), Data([1, 2, 3])] {
            for isThumbnail in [false, true] {
                let record = try record(scale: 1.5, isThumbnail: isThumbnail, extendedData: extendedData)
                #expect(ImageRecord(record.data) == record)
            }
        }
    }

    @Test func hasAStableFormat() throws {
        let data = try record(scale: 2, isThumbnail: true, extendedData: Data([9])).data
        #expect(data.map(Array.init) == Array("WIR".utf8) + [1, 5, 0, 0, 0, 0, 0, 0, 0, 0x40, 9])
    }

    @Test func storesNothingForDefaults() throws {
        #expect(try record(scale: 1).data == nil)
        #expect(ImageRecord(nil as Data?).scale == 1)
    }

    @Test func ignoresForeignData() {
        let foreign = ImageRecord(Data("foreign".utf8))
        #expect(foreign.extendedData == Data("foreign".utf8) && foreign.scale == 1)
    }

    @Test func ignoresDamagedRecordsAndInvalidScales() throws {
        let whole = try #require(try record(scale: 2, extendedData: Data([9])).data)
        for count in 3..<13 { #expect(ImageRecord(whole.prefix(count)) == ImageRecord(nil as Data?)) }
        var future = whole
        future[3] = 2
        #expect(ImageRecord(future) == ImageRecord(nil as Data?))
        for scale in [0, -1, Double.nan, .infinity] {
            let written = try record(scale: scale, extendedData: Data([9])).data
            #expect(ImageRecord(written).scale == 1)
            #expect(ImageRecord(written).extendedData == Data([9]))
        }
    }
}
