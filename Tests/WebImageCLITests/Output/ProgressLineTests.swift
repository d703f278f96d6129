import Testing

@testable import WebImageCLI

@Suite(.timeLimit(.minutes(3))) struct ProgressLineTests {
    @Test func showsTotalSpeedAndTimeLeft() {
        let line = ProgressLine(
            share: 0.5, endedCount: 3, count: 6, byteCount: 4 << 20, expectedByteCount: 8 << 20, seconds: 2)
        let bar = String(repeating: "#", count: 15) + String(repeating: "-", count: 15)
        #expect(line.text == "[\(bar)] 3 of 6, 4.0 MiB of 8.0 MiB, 2.0 MiB/s, 2 s left")
    }

    @Test func countsImagesWithoutBytes() {
        let line = ProgressLine(share: 0.25, endedCount: 50, count: 200, seconds: 20)
        #expect(line.text.english.hasSuffix("] 50 of 200, 2.5/s, 60 s left"))
    }

    @Test func leavesOutWhatIsNotKnown() {
        #expect(ProgressLine(share: 0, endedCount: 0, count: 2, seconds: 0.2).text.english.hasSuffix("] 0 of 2"))
        #expect(
            ProgressLine(share: 0, endedCount: 0, count: 2, byteCount: 512, seconds: 2).text.english
                .hasSuffix("] 0 of 2, 512 B, 256 B/s"))
        #expect(ProgressLine(share: 1, endedCount: 2, count: 2, seconds: 4).text.english.hasSuffix("] 2 of 2, 0.5/s"))
    }

    @Test(arguments: [(3.2, "4 s"), (99, "99 s"), (185, "3:05 min"), (8_040, "2:14 h")])
    func roundsTimes(seconds: Double, text: String) {
        #expect(ProgressLine.duration(seconds) == text)
    }
}
