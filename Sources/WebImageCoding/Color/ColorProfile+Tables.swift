extension ColorProfile {
    /// A copy whose floating-point table for the perceptual intent (`D2B0`) goes by another name: lcms2 would take it
    /// before all else, but browsers do not know it, and files need something beside it for that reason.
    var bytesWithoutFloatTable: [UInt8] {
        var bytes = self.bytes
        for entry in tagEntries where bytes[entry..<entry + 4].elementsEqual("D2B0".utf8) {
            bytes.replaceSubrange(entry..<entry + 4, with: "none".utf8)
        }
        return bytes
    }

    /// Whether the tables of colours take as much room as they claim, so that lcms2 asks for no more memory than the file
    /// has bytes (and twice that: it keeps 16 bits for each 8).
    ///
    /// A few bytes can claim 255 steps along each of 15 axes.
    var hasPlausibleTables: Bool {
        withTag(.perceptualTable) { tag -> Bool? in
            if tag.hasText("mft1", at: 0) {
                return holdsTable(tag, bytesPerValue: 1, headerLength: 48 + 256 * inputCount)
            }
            if tag.hasText("mft2", at: 0) {
                guard let curveLength = tag.integer(at: 48, count: 2, isBigEndian: true) else { return false }
                return holdsTable(tag, bytesPerValue: 2, headerLength: 52 + 2 * curveLength * inputCount)
            }
            if tag.hasText("mAB ", at: 0) { return holdsModernTable(tag) }
            return false
        } ?? true
    }

    /// `lut8Type` and `lut16Type`: as many steps on each axis.
    private func holdsTable(_ tag: RawSpan, bytesPerValue: Int, headerLength: Int) -> Bool {
        guard let inputs = tag.byte(at: 8), let outputs = tag.byte(at: 9), let steps = tag.byte(at: 10) else {
            return false
        }
        return Int(inputs) == inputCount && outputs == 3
            && Self.fits(Array(repeating: steps, count: inputCount), bytesPerValue, behind: headerLength, in: tag)
    }

    /// `lutAToBType`: steps of their own for each axis, or no table at all.
    private func holdsModernTable(_ tag: RawSpan) -> Bool {
        guard let inputs = tag.byte(at: 8), let outputs = tag.byte(at: 9), Int(inputs) == inputCount, outputs == 3,
            let start = tag.integer(at: 24, count: 4, isBigEndian: true)
        else { return false }
        if start == 0 { return true }
        var steps: [UInt8] = []
        for axis in 0..<inputCount {
            guard let count = tag.byte(at: start + axis) else { return false }
            steps.append(count)
        }
        guard let bytesPerValue = tag.byte(at: start + 16) else { return false }
        return Self.fits(steps, Int(bytesPerValue), behind: start + 20, in: tag)
    }

    private static func fits(_ steps: [UInt8], _ bytesPerValue: Int, behind start: Int, in tag: RawSpan) -> Bool {
        // At most 2³² steps, so that nothing overflows.
        let valueCount = steps.reduce(3) { $0 * Int($1) }
        return valueCount > 0 && start + valueCount * bytesPerValue <= tag.byteCount
    }

    private var inputCount: Int {
        switch model {
        case .gray: 1
        case .rgb: 3
        case .cmyk: 4
        }
    }
}
