import Foundation
import WebImageCaching

// make hit-rates: replays generated traces through cache policies, and writes Documentation/HitRates.md.
//
// Two checks come first: each policy on a sequence worked out by hand, and LRU against the library's memory cache.

let policies: [(name: String, make: (Int) -> any Policy)] = [
    ("LRU", { LRU(capacity: $0) }), ("SIEVE", { SIEVE(capacity: $0) }), ("S3-FIFO", { S3FIFO(capacity: $0) }),
    ("W-TinyLFU", { WTinyLFU(capacity: $0) }),
]

/// The share of look-ups and of bytes that a policy answers. Look-ups of the first tenth fill the cache.
func hitRates(of make: (Int) -> any Policy, capacity: Int, _ trace: Trace, _ sizes: [Int]) -> (Double, Double) {
    var policy = make(capacity)
    var (count, hits, bytes, hitBytes) = (0, 0, 0, 0)
    for (number, key) in trace.keys.enumerated() {
        let isHit = policy.access(key, size: sizes[number])
        guard number >= trace.keys.count / 10 else { continue }
        (count, bytes) = (count + 1, bytes + sizes[number])
        if isHit { (hits, hitBytes) = (hits + 1, hitBytes + sizes[number]) }
    }
    return (Double(hits) / Double(count), Double(hitBytes) / Double(bytes))
}

/// The hits of a policy for entries of size 1.
func hits(_ policy: any Policy, _ keys: [Int]) -> [Bool] {
    var policy = policy
    return keys.map { policy.access($0, size: 1) }
}

func check(_ isRight: Bool, _ what: String) {
    guard isRight else {
        print("Wrong: \(what)")
        exit(1)
    }
}

@MainActor func checkPolicies() {
    // 1 is used before 3 comes, so that LRU evicts 2.
    check(hits(LRU(capacity: 2), [1, 2, 1, 3, 1, 2]) == [false, false, true, false, true, false], "LRU")
    // The hand spares 1, which was visited, and evicts 2; then it goes on from there.
    check(
        hits(SIEVE(capacity: 3), [1, 2, 3, 1, 4, 1, 2, 3]) == [false, false, false, true, false, true, false, false],
        "SIEVE")
    // A scan passes through the small queue; what was used twice before stays.
    let scan = [1, 1, 1] + Array(10..<60) + [1]
    check(hits(S3FIFO(capacity: 20), scan).last == true, "S3-FIFO")
    check(hits(WTinyLFU(capacity: 20), [1, 2, 1, 1, 1] + Array(10..<60) + [1]).last == true, "W-TinyLFU")
    check(hits(LRU(capacity: 20), scan).last == false, "LRU with a scan")
    // Larger than the cache: not stored, and nothing leaves for it.
    for (name, make) in policies {
        var policy = make(10)
        _ = policy.access(1, size: 5)
        _ = policy.access(2, size: 11)
        check(policy.access(1, size: 5), "\(name) with a large entry")
    }
}

/// The simulated LRU must be the library's.
func checkAgainstMemoryCache() {
    for trace in [Trace.web, .feed] {
        let capacity = trace.totalSize / 10
        let cache = MemoryCache<Int, Int>(costLimit: capacity)
        var policy = LRU(capacity: capacity)
        for key in trace.keys.prefix(100_000) {
            let size = trace.size(of: key)
            let isCached = cache.value(for: key) != nil
            if !isCached { cache.set(key, for: key, cost: size) }
            check(policy.access(key, size: size) == isCached, "LRU is not that of MemoryCache, \(trace.name)")
        }
    }
}

checkPolicies()
checkAgainstMemoryCache()
var page = HitRatePage()
for trace in Trace.all {
    let sizes = trace.keys.map(trace.size)
    var results: [HitRatePage.Result] = []
    for percent in HitRatePage.percents {
        let capacity = trace.totalSize * percent / 100
        let rates = policies.map { hitRates(of: $0.make, capacity: capacity, trace, sizes) }
        results.append(.init(percent: percent, objects: rates.map(\.0), bytes: rates.map(\.1)))
    }
    page.add(trace, results, policies: policies.map(\.name))
    print(trace.name)
}
let directory = CommandLine.arguments.dropFirst().first ?? "Documentation"
try page.write(to: URL(filePath: directory), policies: policies.map(\.name))
