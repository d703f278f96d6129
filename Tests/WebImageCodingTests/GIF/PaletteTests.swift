import CodingTestSupport
import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding

/// Palettes and dithering.
@Suite(.timeLimit(.minutes(3))) struct PaletteTests {
    private let registry = CodecRegistry()

    private func photo() throws -> Image {
        try registry.decode(
            Fixture("photo.jpg").data(), options: DecodingOptions(thumbnail: Thumbnail(.pixels(width: 90))))
    }

    private func gif(of image: Image, _ dithering: EncodingOptions.Dithering, colorLimit: Int) throws -> Pixels {
        let options = EncodingOptions().with { ($0.dithering, $0.colorLimit) = (dithering, colorLimit) }
        return Pixels(try registry.decode(registry.encode(image, as: .gif, options: options)).pixels)
    }

    @Test func usesNoMoreColorsThanAllowed() throws {
        for limit in [2, 3, 16, 17, 256] {
            for dithering in EncodingOptions.Dithering.allCases {
                let copy = try gif(of: photo(), dithering, colorLimit: limit)
                let colors = copy.bytes.withUnsafeBytes { Set($0.assumingMemoryBound(to: UInt32.self)) }
                #expect(colors.count <= limit && colors.count > limit / 2, "\(limit), \(dithering)")
            }
        }
    }

    @Test func leavesLessErrorWithMoreColors() throws {
        let original = Pixels(try photo().pixels)
        let psnrs = try [2, 4, 16, 64, 256].map { limit in
            try #require(gif(of: photo(), .none, colorLimit: limit).psnr(against: original))
        }
        #expect(psnrs == psnrs.sorted())
        #expect(psnrs[4] > 31, "\(psnrs)")
    }

    @Test(arguments: [EncodingOptions.Dithering.ordered, .floydSteinberg])
    func mixesColorsOutsideThePalette(_ dithering: EncodingOptions.Dithering) throws {
        // A slope of 200 grays in 4 colors: means over 8 by 8 pixels come close.
        let size = PixelSize(width: 256, height: 64)
        let slope = Pixels(
            size: size,
            bytes: (0..<size.pixelCount).flatMap { place -> [UInt8] in
                let level = UInt8(place % 256)
                return [level, level, level, 255]
            })
        func error(_ dithering: EncodingOptions.Dithering) throws -> Double {
            let copy = try gif(of: Image(pixels: slope.buffer(isOpaque: true)), dithering, colorLimit: 4)
            func mean(_ pixels: Pixels, _ left: Int) -> Double {
                let sum = (0..<64).flatMap { y in (left..<left + 8).map { Int(pixels.bytes[(y * 256 + $0) * 4]) } }
                return Double(sum.reduce(0, +)) / 512
            }
            // Beyond the outermost colors there is nothing to mix.
            return stride(from: 48, to: 208, by: 8).map { abs(mean(copy, $0) - mean(slope, $0)) }.max() ?? 0
        }
        #expect(try error(dithering) < (dithering == .ordered ? 12 : 3))
        #expect(try error(.none) > 20)
    }

    @Test func keepsOrderedDitheringInPlaceBetweenFrames() throws {
        let image = try photo()
        var animation = EncodableAnimation()
        animation.append(image, duration: .milliseconds(100))
        var changed = Pixels(image.pixels)
        changed.bytes[0] = changed.bytes[0] &+ 90
        animation.append(Image(pixels: try changed.buffer(isOpaque: true)), duration: .milliseconds(100))
        for palette in EncodingOptions.Palette.allCases {
            let options = EncodingOptions().with { ($0.dithering, $0.palette) = (.ordered, palette) }
            let copy = try PixelAnimation(reading: registry.encode(animation, as: .gif, options: options))
            #expect(copy.frames[0].bytes.dropFirst(4) == copy.frames[1].bytes.dropFirst(4))
        }
    }

    /// Wherever the changed part starts.
    @Test func keepsOrderedDitheringInPlaceInPartsOfAFrame() throws {
        let pixels = try photo().pixels
        var histogram = ColorHistogram()
        try histogram.add(pixels, cancellation: nil)
        let palette = GIFPalette(for: histogram, limit: 8, mayBeTransparent: false)
        var mapper = PaletteMapper(palette, dithering: .ordered)
        let whole = try mapper.indices(of: pixels, cancellation: nil)
        for (left, top) in [(0, 0), (1, 0), (0, 3), (13, 6)] {
            let area = PixelArea(columns: left..<left + 30, rows: top..<top + 20)
            let part = try pixels.cropped(to: area, cancellation: nil)
            let expected = area.rows.flatMap { row in area.columns.map { whole[row * pixels.width + $0] } }
            #expect(try mapper.indices(of: part, left: left, top: top, cancellation: nil) == expected)
        }
    }

    @Test func writesOnePaletteForAllFrames() throws {
        let size = PixelSize(width: 32, height: 32)
        var generator = SplitMix64(seed: 1)
        func noise(_ range: ClosedRange<UInt8>) -> Pixels {
            Pixels(
                size: size,
                bytes: (0..<1024).flatMap { _ in (0..<3).map { _ in UInt8.random(in: range, using: &generator) } + [255]
                })
        }
        let animation = try PixelAnimation(frames: [noise(0...60), noise(180...255)], durations: [1, 1]).encodable()
        for palette in EncodingOptions.Palette.allCases {
            let options = EncodingOptions().with { $0.palette = palette }
            let file = try GIFFile(whole: registry.encode(animation, as: .gif, options: options))
            let isShared = file.frames[0].palette == file.frames[1].palette
            #expect(isShared == (palette == .global))
        }
    }

    @Test func sharesTheTableWhileTheColorsFit() throws {
        let size = PixelSize(width: 8, height: 8)
        func frame(_ first: Int) -> Pixels {
            Pixels(size: size, bytes: (0..<64).flatMap { [UInt8(first + $0), 1, 2, 255] })
        }
        // 255 colors in all.
        var frames = [frame(0), frame(64), frame(128), frame(190), frame(190)]
        frames[4].bytes[0] = 255
        let animation = PixelAnimation(frames: frames, durations: [1, 1, 1, 1, 1])
        let data = try registry.encode(animation.encodable(), as: .gif)
        let file = try GIFFile(whole: data)
        #expect(Set(file.frames.map(\.palette)).count == 1)
        #expect(try PixelAnimation(reading: data).frames == frames)
        frames.append(Pixels(size: size, bytes: (0..<64).flatMap { [9, UInt8($0), 99, 255] }))
        let longer = try registry.encode(
            PixelAnimation(frames: frames, durations: [1, 1, 1, 1, 1, 1]).encodable(), as: .gif)
        #expect(Set(try GIFFile(whole: longer).frames.map(\.palette)).count == 2)
        #expect(try PixelAnimation(reading: longer).frames == frames)
    }

    @Test func theTransparentColorNeedsAPlaceInASharedTable() throws {
        func histogram(_ grays: ClosedRange<UInt8>, hasClearPixels: Bool) throws -> ColorHistogram {
            var bytes = grays.flatMap { [$0, $0, $0, 255] as [UInt8] }
            if hasClearPixels { bytes += [0, 0, 0, 0] }
            let pixels = Pixels(size: PixelSize(width: bytes.count / 4, height: 1), bytes: bytes)
            var histogram = ColorHistogram()
            try histogram.add(pixels.buffer(), cancellation: nil)
            return histogram
        }
        let palette = try GIFPalette(
            for: histogram(0...99, hasClearPixels: false), limit: 256, mayBeTransparent: false)
        func extended(to last: UInt8, hasClearPixels: Bool) throws -> GIFPalette? {
            palette.extended(for: try histogram(100...last, hasClearPixels: hasClearPixels), limit: 256)
        }
        #expect(try extended(to: 254, hasClearPixels: true)?.transparentIndex == 255)
        #expect(try extended(to: 255, hasClearPixels: true) == nil)
        #expect(try extended(to: 255, hasClearPixels: false)?.colors.count == 256)
    }

    @Test func findsTheNearestColor() {
        var generator = SplitMix64(seed: 6)
        for count in [1, 2, 7, 255, 256] {
            let colors = (0..<count).map { _ in UInt32.random(in: 0...0xFF_FFFF, using: &generator) }
            let nearest = NearestColor(colors)
            for _ in 0..<200 {
                let color = UInt32.random(in: 0...0xFF_FFFF, using: &generator)
                let distances = colors.map { other in
                    [0, 8, 16].reduce(0) { sum, shift in
                        let difference = Int(color >> shift & 0xFF) - Int(other >> shift & 0xFF)
                        return sum + difference * difference
                    }
                }
                #expect(nearest.index(of: color) == distances.firstIndex(of: distances.min() ?? 0))
            }
        }
    }
}
