import CWebImageLCMS
import WebImageCoding
import WebImageCore

extension BenchmarkGroup {
    /// Colors of 2 megapixels to sRGB, beside lcms2 alone, and what it takes to find out how.
    static let color = BenchmarkGroup(name: "color") { table in
        let profile = try LittleCMSProfile.displayP3()
        let conversion = try profile.conversion()
        let yardstick = try LittleCMSYardstick(profile)
        let opaque = try drawing(isOpaque: true)
        try compareResults(conversion, yardstick, opaque)
        var output = [UInt8](repeating: 0, count: opaque.byteCount)
        try table.compare("Display P3, 2 MP, against lcms2") {
            _ = try conversion.convertedToSRGB(opaque)
        } yardstick: {
            yardstick.convert(opaque, to: &output)
        }
        let translucent = try drawing(isOpaque: false)
        try table.compare("Display P3, 2 MP translucent, against lcms2") {
            _ = try conversion.convertedToSRGB(translucent)
        } yardstick: {
            // lcms2 copies alpha and neither divides nor multiplies by it: half the work.
            yardstick.convert(translucent, to: &output)
        }
        try table.compare("finding a transform again, against making it", operationCount: 100) {
            for _ in 0..<100 { _ = try profile.conversion() }
        } yardstick: {
            for _ in 0..<100 { _ = try LittleCMSYardstick(profile) }
        }
    }

    private static func compareResults(
        _ conversion: ColorConversion, _ yardstick: LittleCMSYardstick, _ pixels: PixelBuffer
    ) throws {
        var output = [UInt8](repeating: 0, count: pixels.byteCount)
        yardstick.convert(pixels, to: &output)
        let ours = try conversion.convertedToSRGB(pixels).withUnsafeBytes { Array($0) }
        guard zip(ours, output).allSatisfy({ abs(Int($0) - Int($1)) <= 1 }) else {
            throw WrongResult(description: "our colors are more than a level from lcms2's")
        }
    }

    /// Slow changes and some grain, as photographs have them.
    private static func drawing(isOpaque: Bool) throws -> PixelBuffer {
        let size = PixelSize(width: 1920, height: 1080)
        var pixels = try MutablePixelBuffer(width: size.width, height: size.height)
        var generator = SystemRandomNumberGenerator()
        pixels.withUnsafeMutableBytes { bytes in
            for y in 0..<size.height {
                for x in 0..<size.width {
                    let offset = (y * size.width + x) * 4
                    let grain = Int.random(in: 0..<12, using: &generator)
                    let alpha = isOpaque ? 255 : 1 + (x + y) % 254
                    let color = [x * 240 / size.width + grain, y * 240 / size.height + grain, (x + y) % 240 + grain]
                    for channel in 0..<3 { bytes[offset + channel] = UInt8(color[channel] * alpha / 255) }
                    bytes[offset + 3] = UInt8(alpha)
                }
            }
        }
        return pixels.freeze(isOpaque: isOpaque)
    }
}

/// A profile that lcms2 wrote.
private struct LittleCMSProfile {
    let bytes: [UInt8]

    static func displayP3() throws -> LittleCMSProfile {
        var white = cmsCIExyY(x: 0.3127, y: 0.329, Y: 1)
        var primaries = cmsCIExyYTRIPLE(
            Red: cmsCIExyY(x: 0.68, y: 0.32, Y: 1), Green: cmsCIExyY(x: 0.265, y: 0.69, Y: 1),
            Blue: cmsCIExyY(x: 0.15, y: 0.06, Y: 1))
        // sRGB's curve is lcms2's formula 4.
        let curve = cmsBuildParametricToneCurve(nil, 4, [2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045])
        defer { cmsFreeToneCurve(curve) }
        let profile = cmsCreateRGBProfile(&white, &primaries, [curve, curve, curve])
        defer { cmsCloseProfile(profile) }
        var length: cmsUInt32Number = 0
        guard cmsSaveProfileToMem(profile, nil, &length) != 0 else {
            throw WrongResult(description: "lcms2 makes no profile")
        }
        var bytes = [UInt8](repeating: 0, count: Int(length))
        guard cmsSaveProfileToMem(profile, &bytes, &length) != 0 else {
            throw WrongResult(description: "lcms2 writes no profile")
        }
        return LittleCMSProfile(bytes: bytes)
    }

    func conversion() throws -> ColorConversion {
        guard let profile = ColorProfile(bytes) else { throw WrongResult(description: "we read no profile") }
        let conversion = ColorConversion(from: .profile(profile))
        guard !conversion.isIdentity else { throw WrongResult(description: "we convert nothing") }
        return conversion
    }
}

/// lcms2 as it is used by others: with its memory of one pixel, 4 bytes in and 4 out.
private final class LittleCMSYardstick {
    private let transform: cmsHTRANSFORM

    init(_ profile: LittleCMSProfile) throws {
        let input = cmsOpenProfileFromMem(profile.bytes, cmsUInt32Number(profile.bytes.count))
        let output = cmsCreate_sRGBProfile()
        defer {
            cmsCloseProfile(input)
            cmsCloseProfile(output)
        }
        let layout = cmsUInt32Number(cwi_lcms_rgb_and_alpha)
        guard
            let transform = cmsCreateTransform(
                input, layout, output, layout, cmsUInt32Number(INTENT_PERCEPTUAL),
                cmsUInt32Number(cmsFLAGS_COPY_ALPHA))
        else { throw WrongResult(description: "lcms2 makes no transform") }
        self.transform = transform
    }

    deinit { cmsDeleteTransform(transform) }

    func convert(_ pixels: PixelBuffer, to output: inout [UInt8]) {
        pixels.withUnsafeBytes { bytes in
            cmsDoTransform(transform, bytes.baseAddress, &output, cmsUInt32Number(pixels.size.pixelCount))
        }
    }
}
