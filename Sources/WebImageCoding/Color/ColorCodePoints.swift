/// Colours by number (ITU-T H.273), as PNG's cICP has them.
struct ColorCodePoints: Sendable, Hashable {
    let primaries: UInt8
    let transfer: UInt8
    /// 0 for RGB, the only one a PNG may have.
    let matrix: UInt8
    let isFullRange: Bool

    /// Reads the four bytes of a cICP chunk.
    init?(_ content: RawSpan) {
        guard let primaries = content.byte(at: 0), let transfer = content.byte(at: 1), let matrix = content.byte(at: 2),
            let range = content.byte(at: 3)
        else { return nil }
        self.primaries = primaries
        self.transfer = transfer
        self.matrix = matrix
        isFullRange = range == 1
    }

    /// `nil` for numbers that are reserved, and for those that can't be shown on a common display without choosing how to
    /// dim them: HDR (PQ and HLG). What else the file says counts then.
    var encoding: ColorEncoding? {
        guard matrix == 0, isFullRange, let lights = Self.lights[primaries], let curve = Self.curves[transfer] else {
            return nil
        }
        return lights == .sRGB && curve == .sRGB ? .sRGB : .primaries(lights, curve)
    }

    /// Table 2 of H.273, for displays.
    private static let lights: [UInt8: ColorPrimaries] = [
        // BT.709 and sRGB; BT.470 M, B and G; BT.601; film; BT.2020; DCI P3; Display P3.
        1: .sRGB,
        4: ColorPrimaries(red: [0.67, 0.33], green: [0.21, 0.71], blue: [0.14, 0.08], white: [0.31, 0.316]),
        5: ColorPrimaries(red: [0.64, 0.33], green: [0.29, 0.6], blue: [0.15, 0.06], white: ColorPrimaries.d65),
        6: ColorPrimaries(red: [0.63, 0.34], green: [0.31, 0.595], blue: [0.155, 0.07], white: ColorPrimaries.d65),
        7: ColorPrimaries(red: [0.63, 0.34], green: [0.31, 0.595], blue: [0.155, 0.07], white: ColorPrimaries.d65),
        8: ColorPrimaries(red: [0.681, 0.319], green: [0.243, 0.692], blue: [0.145, 0.049], white: [0.31, 0.316]),
        9: ColorPrimaries(
            red: [0.708, 0.292], green: [0.17, 0.797], blue: [0.131, 0.046], white: ColorPrimaries.d65),
        11: ColorPrimaries(red: [0.68, 0.32], green: [0.265, 0.69], blue: [0.15, 0.06], white: [0.314, 0.351]),
        12: .displayP3,
    ]

    /// Table 3 of H.273.
    private static let curves: [UInt8: ToneCurve] = [
        1: video, 4: .gamma(2.2), 5: .gamma(2.8), 6: video, 8: .gamma(1), 13: .sRGB, 14: video, 15: video,
    ]

    /// BT.709's, which BT.601 and BT.2020 share.
    private static let video = ToneCurve.formula(
        ToneCurve.Formula(g: 1 / 0.45, a: 1 / 1.099, b: 0.099 / 1.099, c: 1 / 4.5, d: 0.081))
}
