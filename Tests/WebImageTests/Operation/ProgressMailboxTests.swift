import Testing

@testable import WebImage

@Suite(.timeLimit(.minutes(3))) struct ProgressMailboxTests {
    private var mailbox = ProgressMailbox()

    @Test mutating func beginsAtZeroForALateReader() {
        let wakes = mailbox.put(LoadProgress(received: 10, expected: 20))
        #expect(wakes)
        #expect(
            mailbox.takeAll() == [
                LoadProgress(received: 0, expected: 20), LoadProgress(received: 10, expected: 20),
            ])
    }

    @Test mutating func keepsTheBeginningAndTheNewest() {
        for received in [0, 1, 2, 3] as [Int64] { _ = mailbox.put(LoadProgress(received: received, expected: nil)) }
        #expect(
            mailbox.takeAll() == [
                LoadProgress(received: 0, expected: nil), LoadProgress(received: 3, expected: nil),
            ])
    }

    @Test mutating func wakesTheReaderOnlyWhenNothingWaits() {
        let first = mailbox.put(LoadProgress(received: 0, expected: 9))
        let second = mailbox.put(LoadProgress(received: 4, expected: 9))
        _ = mailbox.takeAll()
        let third = mailbox.put(LoadProgress(received: 5, expected: 9))
        #expect([first, second, third] == [true, false, true])
    }

    @Test mutating func anotherAttemptBeginsAnewAndDropsWhatIsLeftOfTheLast() {
        for received in [0, 5, 8] as [Int64] { _ = mailbox.put(LoadProgress(received: received, expected: 9)) }
        let wakes = mailbox.put(LoadProgress(received: 2, expected: 7, attempt: 2))
        #expect(!wakes, "the reader has been woken and not come yet")
        let isOldNews = mailbox.put(LoadProgress(received: 9, expected: 9))
        #expect(!isOldNews)
        #expect(
            mailbox.takeAll() == [
                LoadProgress(received: 0, expected: 7, attempt: 2), LoadProgress(received: 2, expected: 7, attempt: 2),
            ])
    }

    @Test mutating func dropsNewsThatIsOlderThanWhatWasTold() {
        _ = mailbox.put(LoadProgress(received: 8, expected: 9))
        let wakes = mailbox.put(LoadProgress(received: 4, expected: 9))
        #expect(!wakes)
        #expect(mailbox.takeAll().last?.received == 8)
    }
}

extension ProgressMailbox {
    fileprivate mutating func takeAll() -> [LoadProgress] {
        var all: [LoadProgress] = []
        while let progress = take() { all.append(progress) }
        return all
    }
}
