import Glibc

/// Prints rows of several figures each, under sections, as soon as they are there.
package struct FigureTable {
    private let widths: [Int]

    package init(columns: [String]) {
        widths = columns.map { max(12, $0.count + 2) }.enumerated().map { $0.offset == 0 ? 24 : $0.element }
        row(columns)
    }

    package func section(_ name: String) { print(name) }

    package func row(_ cells: [String]) {
        let padded = zip(cells, widths).enumerated().map { index, cell in
            let space = String(repeating: " ", count: max(0, cell.1 - cell.0.count))
            return index == 0 ? "  " + cell.0 + space : space + cell.0
        }
        print(padded.joined())
        // Into a file or a pipe too.
        fflush(nil)
    }
}
