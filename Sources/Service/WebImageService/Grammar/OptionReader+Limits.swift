internal import WebImageCore

extension OptionReader {
    /// The options that lower limits of the service for one result, where they are allowed. None raises a limit.
    static let limitOptions: [([String], Option)] = [
        (["max_src_resolution", "msr"], megapixels(\.pixelCount)),
        (["max_src_file_size", "msfs"], limit(\.sourceByteCount)),
        (["max_animation_frames", "maf"], limit(\.frameCount)),
        (["max_animation_frame_resolution", "mafr"], megapixels(\.framePixelCount)),
        (["max_result_dimension", "mrd"], limit(\.resultSide)),
    ]

    private func checkLimitOptions() throws(Refusal) {
        guard allowsLimits else { throw Refusal(403, "Paths may not change limits.") }
    }

    /// 0 takes an earlier one back.
    private static func limit(_ property: any WritableKeyPath<Recipe.Limits, Int?> & Sendable) -> Option {
        { reader, arguments throws(Refusal) in
            try reader.checkLimitOptions()
            try arguments.checkCount(1...1)
            guard let value = try arguments.integer(0, in: 0...1 << 40) else { return }
            reader.recipe.limits[keyPath: property] = value == 0 ? nil : value
        }
    }

    private static func megapixels(_ property: any WritableKeyPath<Recipe.Limits, Int?> & Sendable) -> Option {
        { reader, arguments throws(Refusal) in
            try reader.checkLimitOptions()
            try arguments.checkCount(1...1)
            guard let value = try arguments.number(0, in: 0...10_000) else { return }
            reader.recipe.limits[keyPath: property] = value == 0 ? nil : max(1, Int(value * 1e6))
        }
    }
}

extension ImageService.Limits {
    /// Returns these limits, or lower ones where a recipe has them.
    func lowered(to limits: Recipe.Limits) -> ImageService.Limits {
        func lower(_ limit: inout Int, _ own: Int?) { if let own { limit = min(limit, own) } }
        var result = self
        lower(&result.decoding.pixelCount, limits.pixelCount)
        lower(&result.sourceByteCount, limits.sourceByteCount)
        lower(&result.frameCount, limits.frameCount)
        // 0 is any.
        if let side = limits.resultSide { result.resultSide = resultSide == 0 ? side : min(resultSide, side) }
        return result
    }
}
