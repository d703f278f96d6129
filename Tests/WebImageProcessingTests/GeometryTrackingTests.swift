import CodingTestSupport
import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding
@testable import WebImageProcessing

/// A map with as many pixels as its image must show the same part of it.
@Suite(.timeLimit(.minutes(2))) struct GeometryTrackingTests {
    private let image: Image
    private let map: GainMap

    init() throws {
        image = try GainMapFiles.picture(width: 60, height: 40)
        map = GainMap(
            pixels: image.pixels, metadata: try #require(GainMapMetadata(iso: GainMapFiles.iso())),
            imageSize: image.pixels.size)
    }

    private func followed(_ processors: [ImageProcessor]) throws -> (image: Image, map: GainMap?) {
        var geometry: ImageGeometry? = ImageGeometry()
        let result = try geometry.follow(processors, of: image)
        #expect(try result.pixels.size == image.processed(by: processors).pixels.size)
        return (result, try geometry.map { try map.following($0, to: result.pixels.size) })
    }

    private static let exact: [ImageProcessor] = [
        .crop(toPixels: PixelRect(x: 5, y: 3, width: 30, height: 22)),
        .crop(toPoints: PointRect(x: 2, y: 1, width: 18, height: 19)),
        .crop(to: PixelSize(width: 20, height: 17), gravity: .southEast),
        .crop(to: PixelSize(width: 18, height: 18), gravity: .smart),
        .crop(toProportions: 4, 3, gravity: .north), .inset(1, left: 2), .rotate(degrees: 90), .rotate(degrees: 180),
        .rotate(degrees: 270), .rotate(degrees: 360), .flip(horizontally: true), .flip(vertically: true),
        .flip(horizontally: true, vertically: true), .flip(), .resize(to: .pixels(width: 900), allowsUpscaling: false),
    ]

    @Test(arguments: 0..<200) func aMapFollowsItsImage(seed: Int) throws {
        var random = SplitMix64(seed: UInt64(seed))
        let chain = (0..<5).map { _ in Self.exact[Int.random(in: 0..<Self.exact.count, using: &random)] }
        let (result, map) = try followed(chain)
        let pixels = try #require(map?.pixels)
        let names = chain.map { $0.identifier.description }.joined(separator: " ")
        #expect(pixels.size == result.pixels.size, "\(names)")
        #expect(difference(pixels, result.pixels) <= 1, "\(names)")
    }

    @Test(arguments: [
        ImageProcessor.resize(to: .pixels(width: 30, height: 30), mode: .stretch), .resize(to: .pixels(width: 20)),
        .resize(toFill: .pixels(width: 20, height: 20)), .resize(toFill: .pixels(width: 10, height: 30)),
        .letterbox(to: .pixels(width: 30, height: 20), color: .black), .sharpen(deviation: 0.5),
    ])
    func aMapIsScaledLikeItsImage(processor: ImageProcessor) throws {
        let (result, map) = try followed([.crop(toPixels: PixelRect(x: 10, y: 5, width: 48, height: 32)), processor])
        let pixels = try #require(map?.pixels)
        #expect(pixels.size == result.pixels.size)
        // Other filters are not the same at edges.
        #expect(difference(pixels, result.pixels, margin: 3) <= 6)
    }

    @Test(arguments: [0, 255] as [UInt8]) func theColorBehindAnImageEndsTheMap(alpha: UInt8) throws {
        var geometry: ImageGeometry? = ImageGeometry()
        let box = ImageProcessor.letterbox(to: .pixels(width: 40, height: 40), color: .white)
        _ = try geometry.follow([box], of: flat(40, 40, [0, 0, 0, alpha]))
        #expect((geometry == nil) == (alpha == 0))
    }

    @Test func aMapIsNotEnlarged() throws {
        let (result, map) = try followed([.resize(to: .pixels(width: 600))])
        #expect(result.pixels.width == 600 && map?.pixels.size == image.pixels.size)
        #expect(map?.imageSize == result.pixels.size)
    }

    @Test func aSmallMapIsCutBetweenItsPixels() throws {
        let small = GainMap(
            pixels: try image.pixels.resampled(to: PixelSize(width: 15, height: 10)), metadata: map.metadata,
            imageSize: image.pixels.size)
        var geometry: ImageGeometry? = ImageGeometry()
        let result = try geometry.follow(
            [.crop(toPixels: PixelRect(x: 10, y: 6, width: 40, height: 20)), .rotate(degrees: 90)], of: image)
        let part = try small.following(try #require(geometry), to: result.pixels.size).pixels
        #expect(part.size == PixelSize(width: 5, height: 10))
        let wanted = try result.pixels.resampled(to: part.size)
        #expect(difference(part, wanted, margin: 1) <= 8)
    }

    @Test func theBorderIsTrimmedOfBoth() throws {
        let framed = try image.processed(by: [.inset(top: -4, left: -8, bottom: -12, right: -2, color: .black)])
        var geometry: ImageGeometry? = ImageGeometry()
        let result = try geometry.follow([.trim(tolerance: 2), .flip(vertically: true)], of: framed)
        let map = GainMap(pixels: framed.pixels, metadata: map.metadata, imageSize: framed.pixels.size)
        let pixels = try map.following(try #require(geometry), to: result.pixels.size).pixels
        #expect(difference(pixels, result.pixels) <= 1)
    }

    @Test(arguments: [
        ImageProcessor.blur(radius: 2), .rotate(degrees: 30), .rotate(degrees: 90, keepsSize: true), .inset(-1),
        .roundedCorners(radius: 4), .circle(), .letterbox(to: .pixels(width: 50, height: 50), color: .white),
        .tint(.black),
        .transform(id: "none") { image, _ in Image(pixels: try image.pixels.copied().freeze(isOpaque: true)) },
    ])
    func whatAMapCannotFollowDropsIt(processor: ImageProcessor) throws {
        let (_, map) = try followed([.flip(horizontally: true), processor, .flip(horizontally: true)])
        #expect(map == nil)
    }

    @Test(
        arguments: [
            ([], ImageFormat.jpeg, PixelSize(width: 16, height: 12)),
            ([.crop(toPixels: PixelRect(x: 16, y: 8, width: 32, height: 24))], .jpeg, PixelSize(width: 8, height: 6)),
            ([.blur(radius: 2)], .jpeg, nil), ([], .png, nil),
        ] as [([ImageProcessor], ImageFormat, PixelSize?)])
    func anEncodedImageHasTheMapOfItsFile(
        processors: [ImageProcessor], format: ImageFormat, size: PixelSize?
    ) throws {
        let (registry, file) = (CodecRegistry(), try GainMapFiles.ultraHDR())
        let made = try registry.encode(
            registry.decode(file), processedBy: processors, withGainMapOf: file, as: format)
        let map = try registry.gainMap(of: made)
        #expect(map?.pixels.size == size)
    }

    /// The largest difference of a component, not counting pixels at the edge.
    private func difference(_ first: PixelBuffer, _ second: PixelBuffer, margin: Int = 0) -> Int {
        guard first.size == second.size else { return .max }
        var largest = 0
        for y in margin..<max(margin, first.height - margin) {
            for x in margin..<max(margin, first.width - margin) {
                let difference =
                    SIMD4<Int16>(truncatingIfNeeded: first[x, y]) &- SIMD4<Int16>(truncatingIfNeeded: second[x, y])
                largest = max(largest, Int(max(difference.max(), (0 &- difference).max())))
            }
        }
        return largest
    }
}
