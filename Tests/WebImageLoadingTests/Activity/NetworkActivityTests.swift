import FoundationEssentials
import Testing
import WebImageCore
@testable import WebImageLoading
import WebImageTesting

@Suite(.timeLimit(.minutes(1))) struct NetworkActivityTests {
    private let clock = ManualClock()
    private let activity: NetworkActivity

    init() { activity = NetworkActivity(clock: clock) }

    private func settle() async throws {
        try await clock.waitForSleepers()
        clock.advance(by: NetworkActivity.settlingTime)
        while activity.isSettling, !Task.isCancelled { await Task.yield() }
    }

    @Test func countsAndNeverGoesBelowZero() {
        activity.change(by: -1)
        #expect(activity.count == 0)
        activity.change(by: 1)
        activity.change(by: 1)
        #expect(activity.count == 2)
        for _ in 0..<3 { activity.change(by: -1) }
        #expect(activity.count == 0)
        activity.change(by: 1)
        #expect(activity.count == 1)
    }

    @Test func reportsAChangeOnceItHasLasted() async throws {
        var changes = activity.changes().makeAsyncIterator()
        #expect(await changes.next() == false)
        activity.change(by: 1)
        activity.change(by: 1)
        try await settle()
        #expect(await changes.next() == true)
        activity.change(by: -1)
        #expect(clock.sleeperCount == 0, "one of two transfers is left")
        activity.change(by: -1)
        try await settle()
        #expect(await changes.next() == false)
    }

    @Test func doesNotReportShorterChanges() async throws {
        var changes = activity.changes().makeAsyncIterator()
        #expect(await changes.next() == false)
        activity.change(by: 1)
        activity.change(by: -1)
        try await settle()
        // Of the next change it is told, and of nothing before it.
        activity.change(by: 1)
        activity.change(by: -1)
        activity.change(by: 1)
        try await settle()
        #expect(await changes.next() == true)
    }

    @Test func waitsTheWholeTime() async throws {
        var changes = activity.changes().makeAsyncIterator()
        #expect(await changes.next() == false)
        activity.change(by: 1)
        try await clock.waitForSleepers()
        clock.advance(by: NetworkActivity.settlingTime - .microseconds(1))
        #expect(clock.sleeperCount == 1)
        clock.advance(by: .microseconds(1))
        #expect(await changes.next() == true)
    }

    @Test func eachChangeOfTheCountRestartsTheWait() async throws {
        var changes = activity.changes().makeAsyncIterator()
        #expect(await changes.next() == false)
        activity.change(by: 1)
        try await clock.waitForSleepers()
        clock.advance(by: NetworkActivity.settlingTime * 0.75)
        activity.change(by: 1)
        clock.advance(by: NetworkActivity.settlingTime * 0.75)
        try await clock.waitForSleepers()
        #expect(activity.isSettling)
        activity.change(by: -1)
        clock.advance(by: NetworkActivity.settlingTime * 0.75)
        try await clock.waitForSleepers()
        #expect(activity.isSettling)
        clock.advance(by: NetworkActivity.settlingTime * 0.25)
        #expect(await changes.next() == true)
    }

    @Test func aConstantlyChangingCountIsReportedAfterASecond() async throws {
        var changes = activity.changes().makeAsyncIterator()
        #expect(await changes.next() == false)
        activity.change(by: 1)
        var passed = Duration.zero
        while activity.isSettling, passed < .seconds(2) {
            try await clock.waitForSleepers()
            activity.change(by: 1)
            clock.advance(by: .milliseconds(20))
            passed += .milliseconds(20)
            // Until it sleeps again, or has reported.
            while clock.sleeperCount == 0, activity.isSettling, !Task.isCancelled { await Task.yield() }
        }
        #expect(passed == .seconds(1))
        #expect(await changes.next() == true)
    }

    @Test func reportsTheCurrentStateToALateListener() async throws {
        var first = activity.changes().makeAsyncIterator()
        #expect(await first.next() == false)
        activity.change(by: 1)
        try await settle()
        #expect(await first.next() == true)
        var second = activity.changes().makeAsyncIterator()
        #expect(await second.next() == true)
    }

    @Test func aDownloaderCountsTransfersFromTheirSlotToTheirEnd() async throws {
        let server = try SharedServers.faults.get()
        let downloader = ImageDownloader.forTests { configuration in
            configuration.maximumConnections = 2
            configuration.networkActivity = activity
        }
        var loads: [(recording: LoadRecording, task: any LoaderTask)] = []
        for number in 0..<3 { loads.append(downloader.record(try server.url("/held/activity/\(number)"))) }
        try await server.wait(for: .requests, path: "/held/activity", count: 2)
        #expect(activity.count == 2, "one waits for a slot")
        loads[0].task.cancel()
        _ = try await loads[0].recording.error()
        try await server.wait(for: .requests, path: "/held/activity", count: 3)
        #expect(activity.count == 2)
        for number in 1..<3 { try await server.release("/held/activity/\(number)") }
        for load in loads.dropFirst() { try await load.recording.body() }
        #expect(activity.count == 0)
        #expect(try await downloader.error(try server.url("/status/activity")) != nil)
        #expect(activity.count == 0)
    }
}
