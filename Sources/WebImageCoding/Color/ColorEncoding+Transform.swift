extension ColorEncoding {
    /// The way from here to sRGB for pictures of `model`; `nil` where they are to stay as they are.
    func makeTransform(model: ColorModel) -> (any ColorTransform)? {
        let transform: (any ColorTransform)? =
            switch self {
            case .sRGB: nil
            case .profile(let profile): profile.makeTransform(model: model)
            case .primaries(let primaries, let curve):
                primaries.matrixToConnectionSpace.flatMap {
                    MatrixShaper(curves: [curve, curve, curve], matrix: $0)
                }
            case .gamma(let gamma): ToneMap(fileGamma: gamma)
            }
        guard let transform, model == .cmyk || !transform.changesNothingVisible else { return nil }
        return transform
    }

    /// The memory it takes, in bytes.
    var byteCount: Int {
        if case .profile(let profile) = self { profile.bytes.count } else { 0 }
    }
}

extension ColorProfile {
    fileprivate func makeTransform(model: ColorModel) -> (any ColorTransform)? {
        switch (self.model, model) {
        case (.cmyk, .cmyk):
            return LittleCMSTransform(self)
        case (.rgb, .rgb), (.rgb, .gray):
            // A grey picture may have a camera's profile: its grey is that profile's.
            return ownTransform(MatrixShaper.init) ?? LittleCMSTransform(self) ?? MatrixShaper(self)
        case (.gray, .gray):
            return ownTransform(ToneMap.init) ?? LittleCMSTransform(self) ?? ToneMap(self)
        default:
            return nil
        }
    }

    /// Curves and lights only count where there are no tables, which are finer.
    private func ownTransform<Transform: ColorTransform>(_ make: (ColorProfile) -> Transform?) -> Transform? {
        hasTag(.perceptualTable) ? nil : make(self)
    }
}

extension ColorTransform {
    /// Whether no colour moves by more than a level: the transform is from one of the many spellings of sRGB, and applying
    /// it would only cost time and add rounding. It is asked of every 15th level of each channel, and of all greys.
    fileprivate var changesNothingVisible: Bool {
        var colors: [UInt8] = []
        let levels = stride(from: UInt8(0), through: 255, by: 15)
        for red in levels {
            for green in levels {
                for blue in levels { colors += [red, green, blue, 255] }
            }
        }
        for gray in UInt8.min...UInt8.max { colors += [gray, gray, gray, 255] }
        var converted = colors
        convert(colors, to: &converted, pixelCount: colors.count / 4)
        return zip(colors, converted).allSatisfy { abs(Int($0) - Int($1)) <= 1 }
    }
}
