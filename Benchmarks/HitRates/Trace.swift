import Foundation

/// A sequence of look-ups: numbers of images, each with a size in bytes.
struct Trace {
    let name: String
    let about: String
    /// Whether it decides about the disk's policy.
    let isWebLike: Bool
    private(set) var keys: [Int] = []
    private let sizes: Sizes

    private enum Sizes {
        case web
        case thumbnail
    }

    /// In bytes. Web images are log-normal: a median of 20 KB, one in forty larger than 200 KB.
    func size(of key: Int) -> Int {
        switch sizes {
        case .thumbnail: return 64 << 10
        case .web:
            var random = Random(seed: UInt64(key) &* 7919 &+ 1)
            return max(500, min(8_000_000, Int(20_000 * exp(1.2 * random.normal()))))
        }
    }

    /// The size of all different images together.
    var totalSize: Int { Set(keys).reduce(0) { $0 + size(of: $1) } }

    static let all = [web, webWithScans, days, feed, grid, loop]

    /// Popularity by Zipf's law (exponent 0.9) that drifts: every 1,000 look-ups, 1 % of the ranks get new images.
    static let web = make("web", "a site's images by popularity, which drifts", isWebLike: true) { random in
        var ranks = Array(0..<20_000)
        var next = ranks.count
        let zipf = Zipf(count: ranks.count, exponent: 0.9)
        return (0..<400_000).map { number in
            if number % 1_000 == 999 {
                for _ in 0..<ranks.count / 100 {
                    ranks[random.below(ranks.count)] = next
                    next += 1
                }
            }
            return ranks[zipf.rank(&random)]
        }
    }

    /// The same, and now and then a crawl or an export reads 2,000 images once.
    static let webWithScans = make("web-scans", "the same, with one-time scans", isWebLike: true) { random in
        let zipf = Zipf(count: 20_000, exponent: 0.9)
        var keys: [Int] = []
        var next = 1_000_000
        while keys.count < 400_000 {
            keys += (0..<8_000).map { _ in zipf.rank(&random) }
            keys += next..<next + 2_000
            next += 2_000
        }
        return keys
    }

    /// A user's days: most images are of the day, some of the days before, few are old favourites.
    static let days = make("days", "a user's sessions, day by day", isWebLike: true) { random in
        let (today, favourites) = (Zipf(count: 400, exponent: 0.8), Zipf(count: 500, exponent: 1.0))
        return (0..<300).flatMap { day in
            (0..<1_000).map { _ in
                switch random.below(10) {
                case 0...5: 10_000 + day * 400 + today.rank(&random)
                case 6...7: 10_000 + max(0, day - 1 - random.below(5)) * 400 + today.rank(&random)
                default: favourites.rank(&random)
                }
            }
        }
    }

    /// A feed of thumbnails: down by some screens, back up, and on.
    static let feed = make("back-scroll", "a feed: down some screens, back up, and on", sizes: .thumbnail) { random in
        var keys: [Int] = []
        var position = 0
        while keys.count < 200_000 {
            let down = 50 + random.below(400)
            keys += position..<position + down
            position += down
            let back = random.below(min(position, 300))
            keys += (position - back..<position).reversed()
            keys += position - back..<position
        }
        return keys
    }

    /// A grid that is left for a detail view and returned to: each thumbnail, and some whole images.
    static let grid = make("grid", "a grid with visits to whole images") { random in
        var keys: [Int] = []
        while keys.count < 200_000 {
            let page = random.below(40)
            for cell in 0..<60 {
                keys.append(page * 60 + cell)
                if random.below(15) == 0 { keys.append(100_000 + page * 60 + cell) }
            }
        }
        return keys
    }

    /// All images over and over, as a slide show.
    static let loop = make("loop", "a slide show of 5,000 images, over and over", sizes: .thumbnail) { _ in
        (0..<200_000).map { $0 % 5_000 }
    }

    private static func make(
        _ name: String, _ about: String, isWebLike: Bool = false, sizes: Sizes = .web, _ body: (inout Random) -> [Int]
    ) -> Trace {
        var random = Random(seed: 42)
        return Trace(name: name, about: about, isWebLike: isWebLike, keys: body(&random), sizes: sizes)
    }
}

/// SplitMix64, so that each run has the same numbers.
struct Random {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// From 0 to 1.
    mutating func fraction() -> Double { Double(next() >> 11) / Double(1 << 53) }

    mutating func below(_ limit: Int) -> Int { limit > 0 ? Int(next() % UInt64(limit)) : 0 }

    /// A standard normal value, by Box and Muller.
    mutating func normal() -> Double {
        (-2 * log(max(fraction(), 1e-12))).squareRoot() * cos(2 * .pi * fraction())
    }
}

/// Ranks by Zipf's law.
struct Zipf {
    private let sums: [Double]

    init(count: Int, exponent: Double) {
        var sum = 0.0
        sums = (1...count).map { rank in
            sum += 1 / pow(Double(rank), exponent)
            return sum
        }
    }

    func rank(_ random: inout Random) -> Int {
        let wanted = random.fraction() * (sums.last ?? 0)
        var (low, high) = (0, sums.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if sums[middle] < wanted { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
