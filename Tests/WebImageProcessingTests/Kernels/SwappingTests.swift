import CWebImageKernels
import Testing
import WebImageTestSupport

@Suite struct SwappingTests {
    @Test func exchangesRedAndBlueAlone() {
        var random = SplitMix64(seed: 4)
        for count in [0, 1, 3, 7, 8, 9, 31, 64, 1_001] {
            let source = (0..<count * 4 + 1).map { _ in UInt8.random(in: 0...255, using: &random) }
            var swapped = source
            cwi_swap_red_and_blue(source, &swapped, count)
            let expected = (0..<count).flatMap { index in [2, 1, 0, 3].map { source[index * 4 + $0] } }
            #expect(swapped.dropLast() == expected[...] && swapped.last == source.last)

            swapped.withUnsafeMutableBufferPointer { bytes in
                guard let start = bytes.baseAddress else { return }
                cwi_swap_red_and_blue(start, start, count)
            }
            #expect(swapped == source)
        }
    }
}
