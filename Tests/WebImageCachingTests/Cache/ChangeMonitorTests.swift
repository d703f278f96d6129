import Testing
import WebImageTestSupport

@testable import WebImageCaching

@Suite struct ChangeMonitorTests {
    private let monitor = ChangeMonitor<String>()

    @Test func noticesChangesBetweenBeginningAndEnd() {
        let reading = monitor.begin("key")
        var change = monitor.begin("key")
        #expect(!monitor.hasChanged(since: reading))
        monitor.change(&change)
        #expect(monitor.hasChanged(since: reading))
        #expect(!monitor.end(change))
        #expect(monitor.end(reading))
    }

    @Test func doesNotCountOthersKeysAndEarlierChanges() {
        var change = monitor.begin("key")
        monitor.change(&change)
        let (late, other) = (monitor.begin("key"), monitor.begin("other"))
        #expect(!monitor.end(change))
        #expect(!monitor.end(late))
        #expect(!monitor.end(other))
    }

    @Test func tellsOverlappingChangesApart() {
        var (first, second) = (monitor.begin("key"), monitor.begin("key"))
        monitor.change(&first)
        monitor.change(&second)
        #expect(monitor.end(first))
        #expect(monitor.end(second))
    }

    @Test func letsOneOfSeveralChangeWhatTheyFound() {
        var (first, second) = (monitor.begin("key"), monitor.begin("key"))
        var calls: [Int] = []
        #expect(monitor.changeDiskIfUnchanged(&first) { calls.append(1) })
        #expect(!monitor.changeDiskIfUnchanged(&second) { calls.append(2) })
        #expect(calls == [1])
        #expect(!monitor.end(first))
        #expect(monitor.end(second))
    }

    @Test func changesEveryKey() {
        let passages = ["a", "b"].map(monitor.begin)
        monitor.changeAll()
        #expect(passages.allSatisfy(monitor.end))
    }

    @Test func forgetsKeysNobodyWorksOn() {
        var change = monitor.begin("key")
        monitor.change(&change)
        #expect(monitor.changeCount(of: "key") == 1)
        _ = monitor.end(change)
        #expect(monitor.changeCount(of: "key") == 0)
    }
}
