import CWebImageKernels
import Testing
import WebImageTestSupport

/// The kernels that compare frames, beside their definitions.
@Suite struct FrameChangesTests {
    private static let rows: [(before: [UInt32], after: [UInt32])] = {
        var generator = SplitMix64(seed: 11)
        let words: [UInt32] = [0, 0xFF00_0000, 0xFF12_3456, 0x8040_4040, 0x0100_0000]
        return (0..<300).map { index in
            let before = (0..<1 + index % 37).map { _ in words.randomElement(using: &generator) ?? 0 }
            let after = before.map { word in
                Int.random(in: 0..<3, using: &generator) == 0 ? words.randomElement(using: &generator) ?? 0 : word
            }
            return (before, index % 9 == 0 ? before : after)
        }
    }()

    private func columns(
        _ row: (before: [UInt32], after: [UInt32]),
        _ kernel: (
            UnsafePointer<UInt8>?, UnsafePointer<UInt8>?, Int, UnsafeMutablePointer<Int>?, UnsafeMutablePointer<Int>?
        )
            -> Bool
    ) -> Range<Int>? {
        var (first, end) = (0, 0)
        let isFound = row.before.withUnsafeBytes { before in
            row.after.withUnsafeBytes { after in
                kernel(
                    before.bindMemory(to: UInt8.self).baseAddress, after.bindMemory(to: UInt8.self).baseAddress,
                    row.before.count, &first, &end)
            }
        }
        return isFound ? first..<end : nil
    }

    private func range(_ row: (before: [UInt32], after: [UInt32]), _ isOne: (UInt32, UInt32) -> Bool) -> Range<Int>? {
        let places = row.before.indices.filter { isOne(row.before[$0], row.after[$0]) }
        return places.first.map { $0..<(places.last ?? $0) + 1 }
    }

    @Test func findsChangedAndClearedColumns() {
        for row in Self.rows {
            #expect(columns(row, cwi_changed_columns) == range(row) { $0 != $1 })
            #expect(columns(row, cwi_cleared_columns) == range(row) { $0 != 0 && $1 == 0 })
        }
    }

    @Test func copiesWhatChanges() {
        for row in Self.rows {
            let count = row.before.count
            var changes = [UInt32](repeating: 7, count: count)
            var unchangedCount = 0
            let gives = changes.withUnsafeMutableBytes { changes in
                row.before.withUnsafeBytes { before in
                    row.after.withUnsafeBytes { after in
                        cwi_copy_changes(
                            before.bindMemory(to: UInt8.self).baseAddress, after.bindMemory(to: UInt8.self).baseAddress,
                            changes.bindMemory(to: UInt8.self).baseAddress, count, &unchangedCount)
                    }
                }
            }
            let pairs = Array(zip(row.before, row.after))
            #expect(changes == pairs.map { $0 == $1 ? 0 : $1 })
            #expect(unchangedCount == pairs.filter { $0 == $1 }.count)
            #expect(gives == pairs.allSatisfy { $0 == $1 || $1 >> 24 == 255 || $0 == 0 })
        }
    }

    @Test func cutsAlphaInTwo() {
        let source = (0..<256).flatMap { alpha -> [UInt8] in [0, 0, 0, UInt8(alpha)] }
        var pixels = [UInt8](repeating: 5, count: 1024)
        #expect(!cwi_cut_alpha(source, &pixels, 256))
        for alpha in 0..<256 {
            #expect(Array(pixels[alpha * 4..<alpha * 4 + 4]) == (alpha < 128 ? [0, 0, 0, 0] : [5, 5, 5, 255]))
        }
        var opaque = [UInt8](repeating: 5, count: 512)
        #expect(cwi_cut_alpha(Array(source.suffix(512)), &opaque, 128))
    }
}
