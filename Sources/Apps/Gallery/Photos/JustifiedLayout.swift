/// The places of images in rows that are all as wide as the view: each row's height is the one at which its images fill it.
///
///     ┌────────┐┌───┐┌──────────┐
///     │ 0      ││ 1 ││ 2        │   images keep their proportions
///     └────────┘└───┘└──────────┘
///     ┌─────┐┌───────┐
///     │ 3   ││ 4     │              the last row is not stretched
///     └─────┘└───────┘
///     Friday, 1 May 2026             a section begins with a row of its own, below its heading
///     ┌──────┐
struct JustifiedLayout: Equatable {
    struct Row: Equatable {
        /// The images of the row.
        var indices: Range<Int>
        /// The upper edge and the height of the images in points.
        var y, height: Double
        /// The space for a heading above the images, in points; 0 without.
        var headingHeight = 0.0
        /// Whether the images fill the row only if they are as wide by chance.
        var isLast = false
    }

    /// A place in whole points, from the upper left corner of the content.
    struct Frame: Equatable {
        var x, width, height: Int
        var y: Double
    }

    let width, spacing, edge: Double
    private(set) var rows: [Row] = []
    /// The height of all rows, in points.
    private(set) var contentHeight = 0.0

    /// - Parameters:
    ///   - aspectRatios: width divided by height, for each image.
    ///   - rowHeight: the height that rows come close to, in points.
    ///   - captionHeight: the space below each image, in points.
    ///   - spacing: the space between images, in points.
    ///   - edge: the space around all images, in points. A heading at the top has its own.
    ///   - sections: the first images of sections with a heading, in order.
    ///   - headingHeight: the height of a heading, in points.
    init(
        aspectRatios: [Float], width: Double, rowHeight: Double, captionHeight: Double = 0, spacing: Double = 4,
        edge: Double = 0, sections: [Int] = [], headingHeight: Double = 0
    ) {
        (self.width, self.spacing, self.edge) = (width, spacing, edge)
        let width = width - 2 * edge
        guard width > 0, rowHeight > 0 else { return }
        rows.reserveCapacity(aspectRatios.count * Int(rowHeight) / max(1, Int(width)) + 1)
        var (start, sum, y) = (0, 0.0, sections.first == 0 ? 0 : edge)
        var nextSections = sections[...]
        /// Ends a row before image `end`. `sum` is that of its images' ratios.
        func endRow(_ end: Int, isStretched: Bool) {
            let free = max(1, width - spacing * Double(end - start - 1))
            let height = max(1, (isStretched ? free / sum : min(rowHeight, free / sum)).rounded())
            var row = Row(indices: start..<end, y: y, height: height, isLast: !isStretched)
            if nextSections.first == start {
                nextSections.removeFirst()
                row.headingHeight = headingHeight
                row.y += headingHeight
            }
            rows.append(row)
            y = row.y + (height + captionHeight + spacing)
            (start, sum) = (end, 0)
        }
        /// How tall a row of images is.
        func height(_ sum: Double, _ count: Int) -> Double { (width - spacing * Double(count - 1)) / sum }
        for (index, ratio) in aspectRatios.enumerated() {
            let ratio = Double(ratio)
            if index > start, (nextSections.first == start ? nextSections.dropFirst() : nextSections).first == index {
                endRow(index, isStretched: false)
            }
            let count = index - start
            guard count > 0, height(sum + ratio, count + 1) < rowHeight else {
                sum += ratio
                continue
            }
            // With this image the row is lower than wanted, without it taller; what comes closer is chosen.
            let takesImage = rowHeight / height(sum + ratio, count + 1) < height(sum, count) / rowHeight
            if takesImage { sum += ratio }
            endRow(takesImage ? index + 1 : index, isStretched: true)
            if !takesImage { sum = ratio }
        }
        if start < aspectRatios.count { endRow(aspectRatios.count, isStretched: false) }
        contentHeight = rows.isEmpty ? 0 : y - spacing + edge
    }

    /// The rows that overlap a part of the content.
    func rows(from top: Double, to bottom: Double) -> Range<Int> {
        let first = rowIndex { $0.y + $0.height > top }
        return first..<max(first, rowIndex { $0.y >= bottom })
    }

    /// The row of an image.
    func row(of index: Int) -> Int { rowIndex { $0.indices.upperBound > index } }

    /// The places of a row's images, in order.
    func frames(ofRow number: Int, _ aspectRatios: [Float]) -> [Frame] {
        let row = rows[number]
        let gaps = spacing * Double(row.indices.count - 1)
        let width = width - 2 * edge
        let sum = row.indices.reduce(0.0) { $0 + Double(aspectRatios[$1]) }
        // Rounding the row's height left a rest, which all images share.
        let isFull = !row.isLast || sum * row.height + gaps > width - 1
        let factor = isFull ? (width - gaps) / sum : row.height
        var x = edge
        return row.indices.map { index in
            let end = x + Double(aspectRatios[index]) * factor
            defer { x = end + spacing }
            let left = Int(x.rounded())
            return Frame(x: left, width: max(1, Int(end.rounded()) - left), height: Int(row.height), y: row.y)
        }
    }

    /// The first row for which `isAfter` holds; it holds for all rows behind it.
    private func rowIndex(where isAfter: (Row) -> Bool) -> Int {
        var (low, high) = (0, rows.count)
        while low < high {
            let middle = (low + high) / 2
            if isAfter(rows[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
