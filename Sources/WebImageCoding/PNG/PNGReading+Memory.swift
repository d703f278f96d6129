internal import WebImageCore

extension PNGReading {
    /// What the way to the picture takes at the most that is tried first.
    var firstByteCount: Int {
        if let frames, !frames.beginsWithStill { return plan.byteCount(ofFirstFrameOf: frames) }
        guard let still = file.still else { return 0 }
        guard still.mayPassRows(to: plan.targetSize) else { return wholeByteCount(still) }
        return still.rowByteCount + plan.byteCount(resamplingRowsOf: still.layout.size)
    }

    /// What it takes to decode the still as a whole.
    func wholeByteCount(_ still: PNGPicture) -> Int {
        still.workingByteCount + plan.byteCount(from: still.layout.size)
    }

    /// The same with previews: the rows so far, a copy of them, and the last preview, which the caller still has. In the end
    /// all may be decoded once more.
    func byteCountWithPreviews(of still: PNGPicture) -> Int {
        wholeByteCount(still) + still.layout.size.pixelByteCount + plan.targetSize.pixelByteCount
    }
}

extension PNGPicture {
    /// What decoding takes besides the pixels.
    var workingByteCount: Int { joinedByteCount + layout.workingByteCount }

    /// What the data of several chunks take, which are joined.
    var joinedByteCount: Int { chunks.count > 1 ? chunks.reduce(0) { $0 + $1.compressedBytes.count } : 0 }

    /// What passing the rows on one by one takes.
    var rowByteCount: Int {
        let rows = PNGRowConversion(self) == nil ? PNGRowReader.windowRowLimit(layout) * layout.size.width * 4 : 0
        return rows + 8 * layout.filteredRowByteCount + (1 << 20)
    }
}

extension PNGLayout {
    /// What decoding takes besides the pixels and the joined data: filtered rows have a byte more each.
    var workingByteCount: Int { size.height + 4 * filteredRowByteCount + (1 << 20) }

    /// Of a row, with the byte that names its filter.
    fileprivate var filteredRowByteCount: Int { (size.width * bitsPerPixel + 7) / 8 + 1 }
}
