import FoundationEssentials
import Testing

@testable import WebImageCaching

@Suite struct CacheArchiverTests {
    private struct Record: Codable, Equatable {
        var name: String
        var scores: [Double]
        var bytes: Data
        var date: Date
        var next: [Record]?
    }

    private func copy<Value: Codable & Sendable>(_ value: Value) throws -> Value? {
        let archiver = CacheArchiver<Value>.codable
        return try archiver.unarchive(try archiver.archive(value))
    }

    @Test func bringsBackEveryKindOfValue() throws {
        var record = Record(
            name: "Ännchen \"😀\" \0",
            scores: [0.1, -.infinity, .infinity, .greatestFiniteMagnitude, .leastNonzeroMagnitude],
            bytes: Data(0...255), date: Date(timeIntervalSinceReferenceDate: 123_456_789.123_456_7))
        record.next = [record]
        #expect(try copy(record) == record)
        #expect(try copy([UInt64.max]) == [.max])
        #expect(try copy(["a": [1: Optional("$null"), 2: nil]]) == ["a": [1: "$null", 2: nil]])
        #expect(try copy(Double.nan)?.isNaN == true)
    }

    @Test func takesScalarsByThemselves() throws {
        #expect(try copy(3) == 3)
        #expect(try copy(Int64.min) == .min)
        #expect(try copy("text") == "text")
        #expect(try copy("") == "")
        #expect(try copy(true) == true)
        #expect(try copy(0.1) == 0.1)
        #expect(try copy(Double.infinity) == .infinity)
        #expect(try copy(Int?.none) == .some(nil))
        #expect(try copy(Data([1, 2])) == Data([1, 2]))
    }

    @Test func leavesBytesAsTheyAre() throws {
        let archiver = CacheArchiver<Data>.identity
        #expect(try archiver.unarchive(try archiver.archive(Data([1, 2, 3]))) == Data([1, 2, 3]))
        #expect(try archiver.archive(Data()) == Data())
    }
}
