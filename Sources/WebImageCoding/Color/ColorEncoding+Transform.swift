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
            return ownTransform(ToneMap.init) ?? LittleCMSTransform(self).map(ToneMap.init(graysBy:)) ?? ToneMap(self)
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
    /// it would only cost time and add rounding.
    fileprivate var changesNothingVisible: Bool {
        var converted = telltaleColors
        convert(telltaleColors, to: &converted, pixelCount: converted.count / 4)
        return converted.indices.allSatisfy { abs(Int(converted[$0]) - Int(telltaleColors[$0])) <= 1 }
    }
}

/// Opaque pixels: every 15th level of each channel with each other, and all greys.
private let telltaleColors: [UInt8] = {
    let levels = stride(from: UInt8(0), through: 255, by: 15)
    var colors: [UInt8] = []
    for red in levels {
        for green in levels {
            for blue in levels { colors += [red, green, blue, 255] }
        }
    }
    for gray in UInt8.min...UInt8.max { colors += [gray, gray, gray, 255] }
    return colors
}()
