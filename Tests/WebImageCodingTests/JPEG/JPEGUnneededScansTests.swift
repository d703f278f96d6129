import CodingTestSupport
import Foundation
import Testing
@testable import WebImageCoding
import WebImageCore
import WebImageTestSupport

/// Progressive JPEGs at an eighth of their size, at which a block of luma is one sample: the scans of its detail are not decoded.
@Suite(.timeLimit(.minutes(3))) struct JPEGUnneededScansTests {
    private static let fixtures = [
        "progressive-420.jpg", "progressive-444.jpg", "progressive-grey.jpg", "progressive-restart.jpg",
    ].map(Fixture.init)

    private func eighth(of data: Data) throws -> DecodingOptions {
        let size = try JPEGDecoder().info(of: data).size
        let (width, height) = ((size.width + 7) / 8, (size.height + 7) / 8)
        return DecodingOptions(thumbnail: Thumbnail(.pixels(width: width, height: height)))
    }

    /// Returns the file with zeros as the data of the scans of luma detail.
    private func withoutLumaDetail(_ data: Data) -> Data {
        var data = data
        let bounds = data.scanOffsets + [data.count - 2]
        for (start, end) in zip(bounds, bounds.dropFirst()) {
            // One component, the first, from a coefficient behind the DC (ITU-T T.81, B.2.3).
            let isOfLuma = data[start + 4] == 1 && data[start + 5] == data[data.scanOffsets[0] + 5]
            guard isOfLuma, data[start + 7] > 0 else { continue }
            for offset in start + 10..<end where data[offset] != 0xFF && data[offset - 1] != 0xFF {
                // Up to the tables of the next scan.
                if data[offset + 1] == 0xFF, data[offset + 2] == 0xC4 { break }
                data[offset] = 0
            }
        }
        return data
    }

    @Test(arguments: EncodingOptions.Chroma.allCases) func isThatOfTheBaselineFile(_ chroma: EncodingOptions.Chroma)
        throws
    {
        let pixels = try JPEGDecoder().decode(Fixture("baseline-420.jpg").data(), options: DecodingOptions()).pixels
        func encoded(isProgressive: Bool) throws -> Data {
            var options = EncodingOptions()
            (options.isProgressive, options.chroma) = (isProgressive, chroma)
            return try JPEGEncoder().encode(Image(pixels: pixels), options: options)
        }
        let (progressive, baseline) = try (encoded(isProgressive: true), encoded(isProgressive: false))
        let options = try eighth(of: baseline)
        let image = try JPEGDecoder().decode(progressive, options: options)
        #expect(image.pixels.size.width == (pixels.size.width + 7) / 8 && !image.isPartial)
        #expect(try Pixels(image.pixels) == Pixels(JPEGDecoder().decode(baseline, options: options).pixels))
    }

    @Test(arguments: fixtures) func doesNotDependOnLumaDetail(_ fixture: Fixture) throws {
        let data = try fixture.data()
        let damaged = withoutLumaDetail(data)
        let whole = try JPEGDecoder().decode(data, options: DecodingOptions())
        let damagedWhole = try? JPEGDecoder().decode(damaged, options: DecodingOptions())
        #expect(damagedWhole.map { Pixels($0.pixels) } != Pixels(whole.pixels))
        let options = try eighth(of: data)
        let image = try JPEGDecoder().decode(damaged, options: options)
        #expect(!image.isPartial)
        #expect(try Pixels(image.pixels) == Pixels(JPEGDecoder().decode(data, options: options).pixels))
    }

    @Test(arguments: fixtures) func isTheSameWhereverTheFileIsSplit(_ fixture: Fixture) throws {
        let data = try fixture.data()
        let options = try eighth(of: data)
        let whole = try JPEGDecoder().decode(data, options: options)
        for length in 0...data.count {
            let decoder = try #require(JPEGDecoder().makeIncrementalDecoder(options: options))
            try decoder.append(data.prefix(length))
            _ = try decoder.preview()
            try decoder.append(data.dropFirst(length))
            let image = try decoder.finish()
            #expect(Pixels(image.pixels) == Pixels(whole.pixels) && !image.isPartial, "cut at \(length)")
        }
    }

    /// A file that ends in a scan that is not needed is complete at this size.
    @Test(arguments: fixtures) func isPartialIfWhatItNeedsIsMissing(_ fixture: Fixture) throws {
        let data = try fixture.data()
        let options = try eighth(of: data)
        let complete = try Pixels(JPEGDecoder().decode(data, options: options).pixels)
        var completeCount = 0
        for length in 0..<data.count {
            let start = data.prefix(length)
            let image = try? JPEGDecoder().decode(start, options: options)
            if image?.isPartial == false {
                completeCount += 1
                #expect(image.map { Pixels($0.pixels) } == complete, "\(length) bytes")
            } else {
                #expect(
                    (try? JPEGDecoder().decode(start, options: DecodingOptions()))?.isPartial != false,
                    "\(length) bytes")
            }
            let decoder = try #require(JPEGDecoder().makeIncrementalDecoder(options: options))
            let incremental = try? decoder.decode(start, inPiecesOf: 50)
            #expect(incremental?.isPartial == image?.isPartial, "\(length) bytes")
            #expect(incremental.map { Pixels($0.pixels) } == image.map { Pixels($0.pixels) }, "\(length) bytes")
        }
        // The last scan of these files, which is of luma, and its end marker.
        #expect((10..<data.count / 2).contains(completeCount))
    }
}
