import FoundationEssentials
import Testing

@testable import WebImage

extension StressRun {
    /// Returns what is wrong with the contents of the caches.
    func checkCaches() async throws {
        for number in 0..<StressPlan.numberCount {
            for variant in StressVariant.allCases where variant != .undecoded && variant != .closure {
                let key = manager.cacheKey(for: variant.request(try source.url(number)))
                guard let image = cache.image(inMemoryFor: key) else { continue }
                if let fault = variant.fault(of: image, number: number) {
                    violations.add("memory has under \(key): \(fault)")
                }
            }
        }
        let disk = try #require(cache.disk)
        var last: DiskCache.Entry?
        while true {
            let page = await disk.entries(after: last)
            guard !page.isEmpty else { break }
            last = page.last
            for entry in page { try await check(entry, disk) }
        }
    }

    private func check(_ entry: DiskCache.Entry, _ disk: DiskCache) async throws {
        // One that has been replaced since the page was made, as none should be by now.
        let data = try #require(await disk.data(for: entry.key))
        let parts = entry.key.split(separator: "#", maxSplits: 1)
        let number = try #require(URL(string: String(parts[0])).flatMap(StressPicture.number))
        if source.isForbidden(number) { violations.add("the disk has \(entry.key), against the server's will") }
        if parts.count == 1 {
            if !source.hasSent(data, as: number, edition: nil) {
                violations.add("the disk has other bytes of \(number)")
            }
            return
        }
        let variant = try StressVariant.allCases.first { variant in
            var request = variant.request(try source.url(number))
            if entry.key.contains("frames=decoded") { request.options.insert(.preloadAllFrames) }
            return manager.cacheKey(for: request).description == entry.key
        }
        let image = try CodecRegistry.shared.decode(data, options: DecodingOptions(allowsDamage: false))
        guard let reading = StressReading(whole: image), reading.number == number, reading.marks == variant?.marks
        else { return violations.add("the disk has another picture under \(entry.key)") }
    }
}
