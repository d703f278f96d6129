import CodingTestSupport
import Foundation
import Testing
@testable import WebImageCoding
import WebImageCore
import WebImageTestSupport

/// GIFs that arrive in pieces.
@Suite(.timeLimit(.minutes(3))) struct GIFIncrementalDecoderTests {
    private static let fixtures = [
        "87a.gif", "interlaced.gif", "transparent.gif", "local-palette.gif", "offset.gif", "animated.gif",
        "gif-dispose-3.gif", "gif-mixed.gif", "gif-outside.gif",
    ].map(Fixture.init)

    private func makeDecoder(_ options: DecodingOptions = DecodingOptions()) throws -> any IncrementalImageDecoder {
        try #require(GIFDecoder().makeIncrementalDecoder(options: options))
    }

    private func finished(_ decoder: any IncrementalImageDecoder) -> Result<Image, WebImageError> {
        Result { () throws(WebImageError) in try decoder.finish() }
    }

    private func expectEqual(_ image: Image, _ other: Image, _ comment: Comment) throws {
        #expect(Pixels(image.pixels) == Pixels(other.pixels), comment)
        #expect(image.pixels.isOpaque == other.pixels.isOpaque, comment)
        #expect(image.isPartial == other.isPartial, comment)
        #expect(image.frameCount == other.frameCount, comment)
        #expect(image.animation?.frames == other.animation?.frames, comment)
        #expect(image.animation?.loopCount == other.animation?.loopCount, comment)
        #expect(image.animation?.isComplete == other.animation?.isComplete, comment)
    }

    /// A part, a preview, the rest: the same as at once. A part alone: the same as that part.
    @Test(arguments: fixtures)
    func decodesLikeTheWholeFileWhereverItIsSplit(_ fixture: Fixture) throws {
        let data = try fixture.data()
        let whole = try GIFDecoder().decode(data, options: DecodingOptions())
        for length in 0...data.count {
            let decoder = try makeDecoder()
            try decoder.append(data.prefix(length))
            if let preview = try decoder.preview() {
                #expect(preview.isPartial)
                #expect(preview.pixels.size == whole.pixels.size)
            }
            #expect(try decoder.preview() == nil)
            try decoder.append(data.dropFirst(length))
            try expectEqual(try decoder.finish(), whole, "\(length) of \(data.count) bytes")
        }
        for length in 0..<data.count {
            for allowsDamage in [true, false] {
                let options = DecodingOptions(allowsDamage: allowsDamage)
                let decoder = try makeDecoder(options)
                try decoder.append(data.prefix(length))
                let atOnce = Result { () throws(WebImageError) in
                    try GIFDecoder().decode(data.prefix(length), options: options)
                }
                switch (finished(decoder), atOnce) {
                case (.success(let image), .success(let other)):
                    try expectEqual(image, other, "\(length) of \(data.count) bytes")
                case (.failure(let error), .failure(let other)): #expect(error == other)
                case (let result, _): Issue.record("\(length) of \(data.count) bytes: \(result)")
                }
            }
        }
    }

    @Test(arguments: fixtures)
    func showsRowsAsTheyArriveAndThenFrames(_ fixture: Fixture) throws {
        let data = try fixture.data()
        let whole = try GIFDecoder().decode(data, options: DecodingOptions())
        let isInterlaced = fixture.name == "interlaced.gif"
        let decoder = try makeDecoder()
        var goodRowCount = 0
        var frameCount = 0
        for byte in data {
            try decoder.append(Data([byte]))
            if let animation = decoder.animation {
                #expect(animation.frameCount >= frameCount)
                #expect(whole.animation?.frames.starts(with: animation.frames) == true)
                #expect(!animation.isComplete || animation.frameCount == whole.frameCount)
                frameCount = animation.frameCount
            }
            guard let preview = try decoder.preview() else { continue }
            #expect(decoder.probe?.size == whole.pixels.size)
            let count = (0..<whole.height).filter { row in
                (0..<whole.width).allSatisfy { preview.pixels[$0, row] == whole.pixels[$0, row] }
            }.count
            #expect(count >= goodRowCount)
            goodRowCount = count
            // Without interlacing, rows are complete.
            let isOther = (0..<whole.height).contains { row in
                (0..<whole.width).contains {
                    preview.pixels[$0, row] != whole.pixels[$0, row] && preview.pixels[$0, row] != .zero
                }
            }
            #expect(isInterlaced || !isOther)
        }
        #expect(goodRowCount == whole.height)
        #expect(frameCount == (whole.frameCount > 1 ? whole.frameCount : 0))
    }

    /// The rows of the first pass fill the seven below them.
    @Test func fillsTheMissingRowsOfAnInterlacedImage() throws {
        let data = try Fixture("interlaced.gif").data()
        let whole = try GIFDecoder().decode(data, options: DecodingOptions()).pixels
        let decoder = try makeDecoder()
        var previews: [PixelBuffer] = []
        for byte in data {
            try decoder.append(Data([byte]))
            if let preview = try decoder.preview() { previews.append(preview.pixels) }
        }
        func isRow(_ row: Int, of preview: PixelBuffer, like other: Int) -> Bool {
            (0..<whole.width).allSatisfy { preview[$0, row] == whole[$0, other] }
        }
        // 17 rows: 0, 8 and 16; 4 and 12; 2, 6, 10 and 14.
        let first = try #require(previews.first)
        #expect((0..<8).allSatisfy { isRow($0, of: first, like: 0) })
        #expect((8..<17).allSatisfy { first[3, $0] == .zero })
        #expect(previews.contains { preview in (0..<17).allSatisfy { isRow($0, of: preview, like: $0 / 8 * 8) } })
        #expect(previews.contains { preview in (0..<17).allSatisfy { isRow($0, of: preview, like: $0 / 2 * 2) } })
    }

    @Test func marksPartialImages() throws {
        let data = try Fixture("87a.gif").data()
        let half = try GIFDecoder().decode(data.prefix(900), options: DecodingOptions())
        #expect(half.isPartial)
        #expect(half.animation == nil)
        #expect(half.frameCount == 1)
        #expect(!half.pixels.isOpaque)
        #expect(throws: WebImageError.decoding(format: .gif, reason: .truncated)) {
            try GIFDecoder().decode(data.prefix(900), options: DecodingOptions(allowsDamage: false))
        }
        // The palette, and no row.
        #expect(throws: WebImageError.decoding(format: .gif, reason: .truncated)) {
            try GIFDecoder().decode(data.prefix(800), options: DecodingOptions())
        }
        // A truncated animation may have lost frames.
        let animated = try Fixture("gif-mixed.gif").data()
        let cut = try GIFDecoder().decode(animated.dropLast(), options: DecodingOptions())
        #expect(cut.isPartial)
        #expect(cut.frameCount == 16)
        #expect(cut.animation?.isComplete == false)
        let shorter = try GIFDecoder().decode(animated.dropLast(4), options: DecodingOptions())
        #expect(shorter.frameCount == 15)
        #expect(shorter.animation?.frameCount == 15)
    }

    @Test func framesOfAnIncompleteFileAreThoseOfTheWhole() throws {
        let data = try Fixture("gif-mixed.gif").data()
        let whole = try #require(try GIFDecoder().animation(of: data, options: DecodingOptions())).makeFrameReader()
        let decoder = try makeDecoder()
        var animations: [any AnimationSource] = []
        for start in stride(from: 0, to: data.count, by: 50) {
            try decoder.append(data.dropFirst(start).prefix(50))
            if let animation = decoder.animation { animations.append(animation) }
        }
        #expect(animations.count > 10)
        // Their memory is not changed by later bytes.
        for animation in animations {
            let index = animation.frameCount - 1
            let frame = try animation.makeFrameReader().frame(at: index, cancellation: nil)
            #expect(try Pixels(frame) == Pixels(whole.frame(at: index, cancellation: nil)))
        }
    }

    /// A frame's codes are near the start of their shared memory, not after a megabyte of comments.
    @Test func dropsCommentsAsTheyArrive() throws {
        var data = try Fixture("87a.gif").data()
        let codes = try #require(try finishedFile(data).frames.first).codes.count
        let descriptor = data.count - 1 - codes - 10
        var comment = Data([0x21, 0xFE])
        for _ in 0..<4096 { comment += [255] + [UInt8](repeating: 7, count: 255) }
        data.insert(contentsOf: comment + [0], at: descriptor)
        var file = GIFFile()
        for start in stride(from: 0, to: data.count, by: 100) { try file.append(data.dropFirst(start).prefix(100)) }
        file.finish()
        let frame = try #require(file.frames.first)
        #expect(frame.isWhole)
        #expect(frame.codes.count == codes)
        #expect(frame.codes.startIndex < 1000)
    }

    private func finishedFile(_ data: Data) throws -> GIFFile {
        var file = GIFFile()
        try file.append(data)
        file.finish()
        return file
    }

    @Test func makesThumbnails() throws {
        let data = try Fixture("gif-mixed.gif").data()
        let options = DecodingOptions(thumbnail: Thumbnail(.pixels(width: 8, height: 8)), firstFrameOnly: true)
        let decoder = try makeDecoder(options)
        try decoder.append(data.prefix(400))
        let preview = try #require(try decoder.preview())
        #expect(preview.pixels.size == PixelSize(width: 8, height: 6))
        #expect(preview.isThumbnail)
        #expect(decoder.animation == nil)
        try decoder.append(data.dropFirst(400))
        try expectEqual(try decoder.finish(), GIFDecoder().decode(data, options: options), "thumbnail")
    }

    @Test func refusesAHugeImageOnceItsSizeIsKnown() throws {
        var data = try Fixture("87a.gif").data()
        data.replaceSubrange(6..<10, with: [0xFF, 0xFF, 0xFF, 0xFF])
        let size = PixelSize(width: 65_535, height: 65_535)
        let decoder = try makeDecoder()
        #expect(throws: WebImageError.limitExceeded(reason: .pixels(size: size, limit: 100_000_000))) {
            try decoder.append(data.prefix(800))
        }
    }

    @Test func stopsWhenCancelled() throws {
        let options = DecodingOptions(cancellation: Cancellation())
        let decoder = try makeDecoder(options)
        let data = try Fixture("87a.gif").data()
        try decoder.append(data.prefix(900))
        options.cancellation?.cancel()
        #expect(throws: WebImageError.cancelled) { try decoder.append(data.dropFirst(900)) }
    }

    @Test func refusesOtherFormats() throws {
        let decoder = try makeDecoder()
        try decoder.append(Data("GIF90a".utf8))
        #expect(throws: WebImageError.decoding(format: .gif, reason: .corrupt("no GIF signature"))) {
            try decoder.append(Data(repeating: 0, count: 10))
        }
    }

    /// The animations requested after each of 3,000 frames have together 17 times the frames of the last one, instead
    /// of 1,500 times.
    @Test func worksInProportionToTheBytes() throws {
        let count = 3000
        // One pixel: a clear code, a color and the end.
        let frame = Data([0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 0x01, 0])
        let decoder = try makeDecoder()
        try decoder.append(Data("GIF89a".utf8) + [1, 0, 1, 0, 0x80, 0, 0, 1, 2, 3, 4, 5, 6])
        var (composedCount, previewCount) = (0, 0)
        var seen: UnsafePointer<AnimationFrame>?
        for index in 1...count {
            try decoder.append(frame)
            if try decoder.preview() != nil { previewCount += 1 }
            guard let animation = decoder.animation else { continue }
            let missingCount = index - animation.frameCount
            #expect(missingCount >= 0 && missingCount <= index / 16)
            if index <= 31 { #expect(missingCount == 0) }
            // A rebuilt animation has a new array.
            let frames = animation.frames.withUnsafeBufferPointer { $0.baseAddress }
            if frames != seen { composedCount += animation.frameCount }
            seen = frames
        }
        #expect(composedCount <= count * 18)
        #expect(previewCount < 200)
        try decoder.append(Data([0x3B]))
        #expect(decoder.animation?.frameCount == count)
        #expect(try decoder.finish().animation?.frameCount == count)
    }
}
