internal import WebImageCore

/// Which waves a ``ThumbHash`` holds, by what its first five bytes say.
///
///     bits of bytes 0 to 2            6 luminance, 6 yellow to blue, 6 red to green, 5 largest wave of luminance, 1 alpha
///     bits of bytes 3 and 4           3 waves along the short side, 6 and 6 largest waves of the colours, 1 landscape
///     byte 5, with alpha              4 alpha, 4 largest wave of alpha
///     4 bits a wave                   luminance, yellow to blue, red to green, alpha
struct ThumbHashLayout: Sendable {
    let hasAlpha: Bool
    /// Whether the picture is wider than high.
    let isLandscape: Bool
    /// How many waves of luminance fit along the short side, 1 to ``longCount``.
    let shortCount: Int

    /// For a picture of that size.
    init(size: PixelSize, hasAlpha: Bool) {
        self.hasAlpha = hasAlpha
        isLandscape = size.width > size.height
        let short = Double(min(size.width, size.height)) / Double(max(size.width, size.height))
        shortCount = max(1, Int((Double(Self.longCount(hasAlpha: hasAlpha)) * short).rounded()))
    }

    init(of bytes: [UInt8]) throws(WebImageError.PlaceholderHashFailure) {
        guard bytes.count >= Self.headerLength else {
            throw .wrongLength(byteCount: bytes.count, expected: Self.headerLength)
        }
        hasAlpha = bytes[2] & 0x80 != 0
        isLandscape = bytes[4] & 0x80 != 0
        shortCount = Int(bytes[3] & 7)
        guard (1...Self.longCount(hasAlpha: hasAlpha)).contains(shortCount) else { throw .valueOutOfRange(offset: 3) }
        guard bytes.count == byteCount else { throw .wrongLength(byteCount: bytes.count, expected: byteCount) }
    }

    var aspectRatio: Double {
        let ratio = Double(Self.longCount(hasAlpha: hasAlpha)) / Double(shortCount)
        return isLandscape ? ratio : 1 / ratio
    }

    /// Waves of luminance, of each colour difference, and of alpha.
    var luminance: WaveTriangle {
        let (long, short) = (Self.longCount(hasAlpha: hasAlpha), max(3, shortCount))
        return isLandscape ? WaveTriangle(x: long, y: short) : WaveTriangle(x: short, y: long)
    }
    static let color = WaveTriangle(x: 3, y: 3)
    static let alpha = WaveTriangle(x: 5, y: 5)

    private var byteCount: Int {
        let waveCount =
            luminance.waves.count + 2 * Self.color.waves.count + (hasAlpha ? Self.alpha.waves.count : 0)
        return Self.headerLength + (hasAlpha ? 1 : 0) + (waveCount + 1) / 2
    }

    private static let headerLength = 5

    /// How many waves of luminance there are along the long side.
    private static func longCount(hasAlpha: Bool) -> Int { hasAlpha ? 5 : 7 }
}

/// The waves that are neither short across and down: those under the diagonal of a rectangle.
struct WaveTriangle {
    let x: Int
    let y: Int

    /// The numbers of each wave across and down, without the average, in the order in which they are stored.
    var waves: [(x: Int, y: Int)] {
        (0..<y).flatMap { down in
            (0..<x).filter { $0 * y < x * (y - down) && $0 + down > 0 }.map { (x: $0, y: down) }
        }
    }
}
