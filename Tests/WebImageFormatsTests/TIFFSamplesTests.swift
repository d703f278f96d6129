import CodingTestSupport
import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding
@testable import WebImageFormats

/// TIFF of all depths, sample formats and colors, as libtiff's collection of test files has them.
@Suite(.timeLimit(.minutes(3)), .enabled(if: LibraryFormat.tiff.isBuilt, "needs libtiff")) struct TIFFSamplesTests {
    private let registry = FormatFiles.registry
    private static let (width, height) = (37, 11)

    /// Red, green and blue from 0 to 1, different in all places.
    private static func color(_ x: Int, _ y: Int) -> [Double] {
        [Double(x) / Double(width - 1), Double(y) / Double(height - 1), x * 2 < width ? 0.2 : 0.6]
    }

    private static func rows(_ channels: (Int, Int) -> [Double]) -> [[[Double]]] {
        (0..<height).map { y in (0..<width).map { x in channels(x, y) } }
    }

    /// Puts the samples of `rows` in strips: in one, or in one for each plane.
    private static func tiff(
        _ rows: [[[Double]]], bits: Int, photometric: Int, isPlanar: Bool = false, isBigEndian: Bool = false
    ) -> TIFFBytes {
        var tiff = TIFFBytes(width: width, height: height, bits: bits, channels: rows[0][0].count)
        (tiff.photometric, tiff.isPlanar, tiff.isBigEndian) = (photometric, isPlanar, isBigEndian)
        let planes = isPlanar ? (0..<tiff.channels).map { plane in rows.map { $0.map { $0[plane] } } } : []
        tiff.strips = isPlanar ? planes.map(tiff.packed) : [tiff.packed(rows.map { $0.flatMap(\.self) })]
        return tiff
    }

    /// The largest difference from `expected`, from 0 to 1 a channel, in levels of 8 bits.
    private func difference(_ data: Data, _ expected: (Int, Int) -> [Double]) throws -> Double {
        let pixels = try registry.decode(data).pixels
        var largest = 0.0
        for y in 0..<pixels.height {
            for x in 0..<pixels.width {
                let (pixel, expected) = (pixels[x, y], expected(x, y))
                for (channel, value) in [pixel.x, pixel.y, pixel.z].enumerated() {
                    largest = max(largest, abs(Double(value) - 255 * min(max(expected[channel], 0), 1)))
                }
            }
        }
        return largest
    }

    /// Half a step of the depth, and a level for rounding or dithering.
    private static func tolerance(_ bits: Int) -> Double { 127.5 / (pow(2, Double(min(bits, 24))) - 1) + 1.05 }

    static let depths = [1, 2, 4, 6, 8, 10, 12, 14, 16, 24, 32]

    @Test(arguments: depths, [false, true]) func readsColorsOfAnyDepth(bits: Int, isPlanar: Bool) throws {
        for isBigEndian in [false, true] {
            let tiff = Self.tiff(
                Self.rows(Self.color), bits: bits, photometric: 2, isPlanar: isPlanar, isBigEndian: isBigEndian)
            #expect(try difference(tiff.data, Self.color) <= Self.tolerance(bits))
            #expect(try registry.info(of: tiff.data).bitDepth == bits)
        }
    }

    @Test(arguments: depths, [0, 1]) func readsGrayOfAnyDepth(bits: Int, photometric: Int) throws {
        func gray(_ x: Int, _ y: Int) -> Double { Double(x + y) / Double(Self.width + Self.height) }
        let tiff = Self.tiff(
            Self.rows { [photometric == 0 ? 1 - gray($0, $1) : gray($0, $1)] }, bits: bits, photometric: photometric)
        #expect(try difference(tiff.data) { [gray($0, $1), gray($0, $1), gray($0, $1)] } <= Self.tolerance(bits))
    }

    @Test(arguments: [1, 2, 4, 8, 10, 12, 14, 16]) func readsPalettesOfAnyDepth(bits: Int) throws {
        let count = 1 << bits
        func index(_ x: Int, _ y: Int) -> Int { (x + y) * (count - 1) / (Self.width + Self.height) }
        let levels = (0..<count).map { Double($0) / Double(count - 1) }
        var tiff = Self.tiff(
            Self.rows { [Double(index($0, $1)) / Double(count - 1)] }, bits: bits, photometric: 3)
        let columns = [levels, levels.map { 1 - $0 }, levels.map { $0 * $0 }]
        tiff.entries = [(320, 3, columns.flatMap { $0.map { Int(($0 * 65535).rounded()) } })]
        #expect(
            try difference(tiff.data) { x, y in
                let level = levels[index(x, y)]
                return [level, 1 - level, level * level]
            } <= 1.05)
    }

    @Test(arguments: depths.dropFirst(), [false, true]) func readsInksOfAnyDepth(bits: Int, isPlanar: Bool) throws {
        // All depths have these.
        func inks(_ x: Int, _ y: Int) -> [Double] { [x % 4, y % 4, (x + y) % 4, x % 2].map { Double($0) / 3 } }
        let usable = [2, 4, 6, 8, 10, 12, 14, 16, 24, 32].contains(bits)
        try #require(usable)
        let tiff = Self.tiff(Self.rows(inks), bits: bits, photometric: 5, isPlanar: isPlanar)
        #expect(
            try difference(tiff.data) { x, y in
                let inks = inks(x, y)
                return (0..<3).map { (1 - inks[$0]) * (1 - inks[3]) }
            } <= 2)
    }

    /// By the profile, as in a JPEG.
    @Test(arguments: [8, 16]) func convertsInksByTheirProfile(bits: Int) throws {
        let press = try Data(
            contentsOf: Fixture.directory.deletingLastPathComponent().appending(path: "color/press.jpg"))
        let profile = try #require(try JPEGDecoder().colorProfile(of: press))
        func inks(_ x: Int, _ y: Int) -> [Double] { [x % 4, y % 4, (x + y) % 4, x % 2].map { Double($0 * 85) / 255 } }
        var tiff = Self.tiff(Self.rows(inks), bits: bits, photometric: 5)
        tiff.entries = [(34675, 7, profile.bytes.map(Int.init))]
        let conversion = ColorConversion(from: .profile(profile), model: .cmyk)
        #expect(
            try difference(tiff.data) { x, y in
                var pixel = inks(x, y).map { 255 - UInt8(($0 * 255).rounded()) }
                conversion.convertInk(&pixel, pixelCount: 1)
                return pixel.prefix(3).map { Double($0) / 255 }
            } <= 2)
        #expect(try registry.info(of: tiff.data).hasColorProfile)
    }

    /// As ImageMagick: from 0 to 1, what is outside is clipped, and no number is 0.
    @Test(arguments: [16, 32, 64], [false, true]) func readsFloatingPoint(bits: Int, isBigEndian: Bool) throws {
        func value(_ x: Int, _ y: Int) -> [Double] { Self.color(x, y).map { $0 * 1.5 - 0.25 } }
        var tiff = TIFFBytes(width: Self.width, height: Self.height, bits: bits, format: 3)
        tiff.isBigEndian = isBigEndian
        func bytes(_ value: Double) -> [UInt8] {
            switch bits {
            // The compiler has no half on x86-64 everywhere: `Float16` is not in all of its platforms.
            case 16: tiff.number(Int(half(value)), 2)
            case 32: tiff.number(Int(Float(value).bitPattern), 4)
            default: tiff.number(Int(bitPattern: UInt(value.bitPattern)), 8)
            }
        }
        tiff.strips = [Self.rows(value).flatMap { $0.flatMap { $0.flatMap(bytes) } }]
        #expect(try difference(tiff.data, value) <= 1.2)
        tiff.strips[0].replaceSubrange(0..<bits / 8 * 3, with: (0..<3).flatMap { _ in bytes(.nan) })
        #expect(try registry.decode(tiff.data).pixels[0, 0] == SIMD4(0, 0, 0, 255))
    }

    /// IEEE 754's binary16, rounded toward zero, of a number between -2 and 2.
    private func half(_ value: Double) -> UInt16 {
        let sign: UInt16 = value < 0 ? 0x8000 : 0
        if value.isNaN { return 0x7E00 }
        guard abs(value) >= 6.2e-5 else { return sign | UInt16(abs(value) * 16_777_216) }
        let exponent = Int(value.exponent)
        return sign | UInt16(exponent + 15) << 10 | UInt16((value.significand - 1) * 1024)
    }

    @Test(arguments: [8, 16, 32]) func negativeIntegersBeginTheRange(bits: Int) throws {
        var tiff = TIFFBytes(width: 3, height: 1, bits: bits, channels: 1, photometric: 1, format: 2)
        tiff.strips = [[-(1 << (bits - 1)), 0, 1 << (bits - 1) - 1].flatMap { tiff.number($0, bits / 8) }]
        let pixels = try registry.decode(tiff.data).pixels
        #expect((0..<3).map { pixels[$0, 0].x }.first == 0 && pixels[2, 0].x == 255)
        #expect((127...128).contains(pixels[1, 0].x))
    }

    /// Levels of lcms2 for CIELab under D50.
    @Test(arguments: [8, 9, 10], [8, 16]) func readsCIELab(photometric: Int, bits: Int) throws {
        let colors: [(lab: [Double], expected: [Int])] = [
            ([100, 0, 0], [255, 255, 255]), ([60, 20, -30], [159, 133, 198]), ([40, -25, 20], [56, 105, 60]),
            ([80, 10, 60], [239, 190, 81]), ([20, 30, -20], [78, 27, 78]), ([94.9, 0, 0], [240, 240, 240]),
        ]
        var tiff = TIFFBytes(width: colors.count, height: 1, bits: bits, photometric: photometric)
        let unit = bits == 8 ? 1.0 : 256.0
        tiff.strips = [
            colors.flatMap { color in
                let most = bits == 8 ? 255.0 : 65535
                let lightness = Int((color.lab[0] / 100 * (photometric == 9 ? 255 * unit : most)).rounded())
                // CIELab, ICCLab and ITULab.
                let axes = zip(color.lab[1...], [(128.0, 170.0), (96, 200)]).map { value, range in
                    let sample =
                        switch photometric {
                        case 8: value * unit
                        case 9: (value + 128) * unit
                        default: value * most / range.1 + range.0 * unit
                        }
                    return Int(sample.rounded())
                }
                return ([lightness] + axes).flatMap { tiff.number($0, bits / 8) }
            }
        ]
        let pixels = try registry.decode(tiff.data).pixels
        for (x, color) in colors.enumerated() {
            let pixel = pixels[x, 0]
            for (value, expected) in zip([pixel.x, pixel.y, pixel.z], color.expected) {
                #expect(abs(Int(value) - expected) <= 2, "\(color): \(pixel)")
            }
        }
    }

    @Test func readsAlphaOfBothKinds() throws {
        func color(_ x: Int, _ y: Int) -> [Double] { Self.color(x, y).map { $0 * 0.5 } + [0.5] }
        for kind in [1, 2] {
            for isPlanar in [false, true] {
                var tiff = Self.tiff(Self.rows(color), bits: 12, photometric: 2, isPlanar: isPlanar)
                tiff.entries = [(338, 3, [kind])]
                // Associated alpha is multiplied already.
                let scale = kind == 1 ? 1.0 : 0.5
                #expect(try difference(tiff.data) { color($0, $1).map { $0 * scale } } <= 1.2)
                #expect(try registry.decode(tiff.data).pixels[0, 0].w == 128)
            }
        }
    }

    @Test func readsPlanesOfYCbCr() throws {
        var tiff = TIFFBytes(width: 2, height: 1, photometric: 6, isPlanar: true)
        tiff.entries = [(530, 3, [1, 1])]
        // BT.601's red, and gray.
        tiff.strips = [[76, 100], [85, 128], [255, 128]]
        let pixels = try registry.decode(tiff.data).pixels
        #expect(pixels[0, 0].x >= 253 && pixels[0, 0].y <= 2 && pixels[0, 0].z <= 2)
        #expect(pixels[1, 0] == SIMD4(100, 100, 100, 255))
    }

    /// Red and gray, with chroma for several pixels; the last samples are for fewer.
    @Test(arguments: [[2, 2], [4, 1], [1, 2]], [false, true])
    func readsPlanesOfYCbCrWithFewerChromaSamples(factors: [Int], isInStrips: Bool) throws {
        let (width, height) = (9, 5)
        func isRed(_ column: Int) -> Bool { column % 2 == 0 }
        func plane(_ width: Int, _ height: Int, _ value: (Int) -> UInt8) -> [UInt8] {
            (0..<height).flatMap { _ in (0..<width).map(value) }
        }
        func chroma(_ red: UInt8) -> (Int) -> [UInt8] {
            { height in
                plane((width + factors[0] - 1) / factors[0], (height + factors[1] - 1) / factors[1]) {
                    isRed($0) ? red : 128
                }
            }
        }
        var tiff = TIFFBytes(width: width, height: height, photometric: 6, isPlanar: true)
        tiff.entries = [(530, 3, factors)] + (isInStrips ? [(278, 3, [4])] : [])
        let heights = isInStrips ? [4, 1] : [height]
        tiff.strips =
            heights.map { plane(width, $0) { isRed($0 / factors[0]) ? 76 : 100 } }
            + heights.map(chroma(85)) + heights.map(chroma(255))
        let pixels = try registry.decode(tiff.data, options: DecodingOptions(allowsDamage: false)).pixels
        for y in 0..<height {
            for x in 0..<width {
                let pixel = pixels[x, y]
                if isRed(x / factors[0]) {
                    #expect(pixel.x >= 253 && pixel.y <= 2 && pixel.z <= 2, "\(x), \(y): \(pixel)")
                } else {
                    #expect(pixel == SIMD4(100, 100, 100, 255), "\(x), \(y)")
                }
            }
        }
    }

    /// The predictor adds up each row of chroma, which is shorter than the image's.
    @Test(arguments: [[2, 2], [4, 4], [2, 1], [1, 2]], [8, 16])
    func readsPlanesOfYCbCrWithHorizontalDifferences(factors: [Int], bits: Int) throws {
        let (width, height) = (37, 11)
        for isBigEndian in [false, true] {
            var plain = TIFFBytes(width: width, height: height, bits: bits, photometric: 6, isPlanar: true)
            plain.isBigEndian = isBigEndian
            plain.entries = [(530, 3, factors)]
            var compressed = plain
            compressed.compression = 8
            compressed.entries.append((317, 3, [2]))
            for plane in 0..<3 {
                let columns = plane == 0 ? width : (width + factors[0] - 1) / factors[0]
                let rows = plane == 0 ? height : (height + factors[1] - 1) / factors[1]
                let samples = (0..<rows).map { y in
                    (0..<columns).map { x in (x * 5 + y * 11 + plane * 40) % 200 << (bits - 8) }
                }
                let differences = samples.map { row in
                    row.indices.map { $0 == 0 ? row[0] : (row[$0] - row[$0 - 1]) & (1 << bits - 1) }
                }
                func bytes(_ rows: [[Int]]) -> [UInt8] { rows.flatMap { $0.flatMap { plain.number($0, bits / 8) } } }
                plain.strips.append(bytes(samples))
                compressed.strips.append(TIFFBytes.deflated(bytes(differences)))
            }
            let options = DecodingOptions(allowsDamage: false)
            let pixels = try registry.decode(compressed.data, options: options).pixels
            #expect(try Pixels(pixels) == Pixels(registry.decode(plain.data, options: options).pixels))
        }
    }

    @Test(arguments: [0, 1, 2], [8, 16]) func readsTheAlphaBesideAPalette(kind: Int, bits: Int) throws {
        var tiff = TIFFBytes(width: 3, height: 1, bits: bits, channels: 2, photometric: 3)
        let columns = [[65535, 0, 32896], [0, 65535, 32896], [0, 0, 65535]]
        let palette = columns.flatMap { $0 + Array(repeating: 0, count: 1 << bits - 3) }
        tiff.entries = [(320, 3, palette), (338, 3, [kind])]
        tiff.strips = [
            [0, 255, 1, 0, 2, 128].enumerated().flatMap { index, value in
                tiff.number(index % 2 == 0 || bits == 8 ? value : value * 257, bits / 8)
            }
        ]
        let pixels = try registry.decode(tiff.data).pixels
        guard kind > 0 else {
            // A sample without a meaning.
            #expect(pixels[1, 0] == SIMD4(0, 255, 0, 255) && pixels[2, 0] == SIMD4(128, 128, 255, 255))
            return
        }
        #expect(try registry.info(of: tiff.data).hasAlpha)
        #expect(pixels[0, 0] == SIMD4(255, 0, 0, 255) && pixels[1, 0] == .zero)
        #expect(pixels[2, 0].w == 128 && (63...65).contains(pixels[2, 0].x) && pixels[2, 0].z == 128)
    }

    @Test(
        .enabled(if: OtherProgram.isInstalled(OtherProgram.imageMagick), "needs ImageMagick"),
        arguments: [10, 12, 14, 32])
    func imageMagickReadsTheSame(bits: Int) throws {
        let files = try FormatFiles()
        let data = Self.tiff(Self.rows(Self.color), bits: bits, photometric: 2).data
        try files.directory.write(data, to: "a.tif")
        try OtherProgram.run(OtherProgram.imageMagick, [files.path("a.tif"), "-depth", "8", files.path("a.png")])
        let difference = Pixels(try registry.decode(data).pixels).difference(from: try files.pixels(ofPNG: "a.png"))
        #expect((difference ?? 255) <= 1)
    }

    // MARK: Lossless JPEG

    /// libtiff leaves that to libjpeg, which has it from version 3 on.
    @Test(arguments: [8, 12, 16], [false, true]) func readsLosslessJPEG(bits: Int, isPlanar: Bool) throws {
        let (width, height) = (Self.width, Self.height)
        let maximum = 1 << bits - 1
        func level(_ x: Int, _ y: Int, _ channel: Int) -> Int {
            Int((Self.color(x, y)[channel] * Double(maximum)).rounded())
        }
        var tiff = TIFFBytes(width: width, height: height, bits: bits, compression: 7)
        tiff.isPlanar = isPlanar
        let writer = LosslessJPEGWriter(
            width: width, height: height, bits: bits, components: isPlanar ? 1 : 3, predictor: 5)
        tiff.strips =
            isPlanar
            ? (0..<3).map { plane in Array(writer.data { x, y, _ in level(x, y, plane) }) }
            : [Array(writer.data(level))]
        #expect(try difference(tiff.data, Self.color) <= Self.tolerance(bits))
        // As many samples in rows of another kind, as in DNG.
        guard !isPlanar, bits == 16 else { return }
        var wide = LosslessJPEGWriter(width: width * 3, height: height, bits: bits, components: 1)
        wide.predictor = 2
        tiff.strips = [Array(wide.data { x, y, _ in level(x / 3, y, x % 3) })]
        #expect(try difference(tiff.data, Self.color) <= Self.tolerance(bits))
        tiff.strips[0].removeLast(tiff.strips[0].count / 2)
        #expect(throws: WebImageError.decoding(format: .tiff, reason: .corrupt("strip 1 of 1 cannot be read (JPEG)"))) {
            try registry.decode(tiff.data, options: DecodingOptions(allowsDamage: false))
        }
    }

    // MARK: Errors

    /// Our sentences, with what the file has.
    @Test(arguments: [
        (TIFFBytes(width: 4, height: 4, bits: 16, photometric: 32803), "photometric interpretation 32803"),
        (TIFFBytes(width: 4, height: 4, bits: 64, format: 6), "sample format 6, such as complex numbers"),
        (TIFFBytes(width: 4, height: 4, bits: 40), "integers of 40 bits"),
        (TIFFBytes(width: 4, height: 4, bits: 8, format: 3), "floating point of 8 bits"),
        (TIFFBytes(width: 4, height: 4, compression: 65_000), "compression 65000 (unknown)"),
    ]) func tellsWhatItDoesNotRead(tiff: TIFFBytes, text: String) {
        var tiff = tiff
        tiff.strips = [Array(repeating: 0, count: 512)]
        #expect(throws: WebImageError.decoding(format: .tiff, reason: .unsupported(text))) {
            try registry.decode(tiff.data)
        }
    }

    @Test(arguments: [(8, 2), (16, 2), (8, 8)]) func tellsWhichStripIsDamaged(bits: Int, photometric: Int) {
        var tiff = TIFFBytes(width: 40, height: 20, bits: bits, photometric: photometric, compression: 5)
        tiff.entries = [(278, 4, [10])]
        tiff.strips = [Array(repeating: 0xFF, count: 90), Array(repeating: 0xFF, count: 90)]
        let options = DecodingOptions(allowsDamage: false)
        let error = #expect(throws: WebImageError.self) { try registry.decode(tiff.data, options: options) }
        let text = "\(String(describing: error))"
        #expect(text.contains("LZW") && !text.contains("Sorry") && !text.contains("1844674"))
        if photometric == 8 || bits == 16 { #expect(text.contains("strip 1 of 2 cannot be read (LZW)")) }
    }

    // MARK: Bounds

    /// Before libtiff gets the file.
    @Test(arguments: [
        (322, [60_000], "tiles of 60000×60000 pixels for an image of 4×4"),
        (277, [5_000], "5000 channels"), (258, [65], "65 bits a channel"),
    ]) func refusesClaimsOfAPage(tag: Int, values: [Int], text: String) {
        var tiff = TIFFBytes(width: 4, height: 4)
        tiff.strips = [Array(repeating: 0, count: 48)]
        tiff.entries = [(tag, 3, values)] + (tag == 322 ? [(323, 3, values)] : [])
        let error = #expect(throws: WebImageError.self) { try registry.info(of: tiff.data) }
        #expect("\(String(describing: error))".contains(text))
    }

    @Test func refusesMillionsOfStrips() {
        var tiff = TIFFBytes(width: 4, height: 60_000, channels: 200)
        tiff.isPlanar = true
        tiff.strips = [[0]]
        tiff.entries = [(278, 3, [1])]
        let error = #expect(throws: WebImageError.self) { try registry.info(of: tiff.data) }
        #expect("\(String(describing: error))".contains("12000000 strips or tiles"))
    }

    @Test func aStripCountsAsMemory() {
        var tiff = TIFFBytes(width: 3_000, height: 3_000, bits: 64, channels: 100)
        tiff.strips = [[0]]
        let error = #expect(throws: WebImageError.self) { try registry.info(of: tiff.data) }
        guard case .limitExceeded(.memory, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    /// The chain of directories ends where it leads back.
    @Test(.timeLimit(.minutes(1))) func directoriesInACircleEnd() throws {
        var tiff = TIFFBytes(width: 4, height: 4)
        tiff.strips = [Array(repeating: 50, count: 48)]
        var data = tiff.data
        let directory = Int(data[4]) | Int(data[5]) << 8
        let link = directory + 2 + (Int(data[directory]) | Int(data[directory + 1]) << 8) * 12
        data.replaceSubrange(link..<link + 4, with: data[4..<8])
        #expect(try registry.info(of: data).pageCount == 1)
        #expect(try registry.decode(data).pixels[0, 0] == SIMD4(50, 50, 50, 255))
    }

    @Test(.enabled(if: OtherProgram.isInstalled("/usr/bin/tiffcp"), "needs tiffcp")) func readsLZMA() throws {
        let files = try FormatFiles()
        var tiff = TIFFBytes(width: 40, height: 30)
        tiff.strips = [(0..<3600).map { UInt8(truncatingIfNeeded: $0 * $0 >> 3) }]
        try files.directory.write(tiff.data, to: "a.tif")
        try OtherProgram.run("/usr/bin/tiffcp", ["-c", "lzma", "-r", "8", files.path("a.tif"), files.path("b.tif")])
        let data = try Data(contentsOf: URL(filePath: files.path("b.tif")))
        #expect(Pixels(try registry.decode(data).pixels) == Pixels(try registry.decode(tiff.data).pixels))
    }
}
