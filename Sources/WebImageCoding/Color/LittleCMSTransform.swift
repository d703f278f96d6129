internal import CWebImageKernels
internal import CWebImageLCMS

/// Any profile that lcms2 understands: tables of colours, and ink.
///
/// The intent is perceptual, the one such tables are made for and the one browsers take; the darkest ink becomes black, as
/// lcms2 does on its own for this intent and an sRGB of version 4. lcms2 keeps a transform's last pixel only if it may, and
/// here it may not: that is all that threads would share.
final class LittleCMSTransform: ColorTransform, @unchecked Sendable {
    // `@unchecked`: lcms2 does not write to a transform without that memory of one pixel.
    private let transform: cmsHTRANSFORM
    private let model: ColorModel

    /// - Parameter isExact: whether every pixel goes through every step of the profile, which is slow. If not, lcms2 takes
    ///   samples and goes straight between them; for grey these are so few that dark tones are up to 10 levels off.
    init?(_ profile: ColorProfile, isExact: Bool) {
        let bytes = profile.bytesWithoutFloatTable
        guard profile.hasPlausibleTables, let input = cmsOpenProfileFromMem(bytes, cmsUInt32Number(bytes.count))
        else { return nil }
        defer { cmsCloseProfile(input) }
        guard let output = cmsCreate_sRGBProfile() else { return nil }
        defer { cmsCloseProfile(output) }
        let shortcuts = isExact ? cwi_lcms_exact : 0
        let layout =
            switch profile.model {
            case .gray: cwi_lcms_gray_and_three_more
            case .rgb: cwi_lcms_rgb_and_alpha
            case .cmyk: cwi_lcms_inverted_cmyk
            }
        guard
            let transform = cmsCreateTransform(
                input, cmsUInt32Number(layout), output, cmsUInt32Number(cwi_lcms_rgb_and_alpha),
                cmsUInt32Number(INTENT_PERCEPTUAL), cmsUInt32Number(cwi_lcms_shareable | shortcuts))
        else { return nil }
        self.transform = transform
        model = profile.model
    }

    /// Exact for grey: no more than 256 pixels are ever asked, see ``ToneMap/init(graysBy:)``.
    convenience init?(_ profile: ColorProfile) { self.init(profile, isExact: profile.model == .gray) }

    deinit { cmsDeleteTransform(transform) }

    /// lcms2 does not tell. It turns what a profile does into one table of colours, for ink about this large.
    let byteCount = 512 << 10

    func convert(_ source: UnsafePointer<UInt8>, to destination: UnsafeMutablePointer<UInt8>, pixelCount: Int) {
        // lcms2 counts in 32 bits; a batch also stays in the processor's cache from pass to pass.
        let batchSize = 1 << 12
        for first in stride(from: 0, to: pixelCount, by: batchSize) {
            let count = min(batchSize, pixelCount - first)
            let (source, destination) = (source + first * 4, destination + first * 4)
            if model == .cmyk {
                cmsDoTransform(transform, source, destination, cmsUInt32Number(count))
                cwi_make_opaque(destination, count)
            } else {
                cwi_unpremultiply(source, destination, count)
                cmsDoTransform(transform, destination, destination, cmsUInt32Number(count))
                cwi_premultiply(destination, count)
            }
        }
    }
}
