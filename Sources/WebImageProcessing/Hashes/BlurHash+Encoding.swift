internal import Glibc
public import WebImageCore

extension BlurHash {
    /// The hash of a picture.
    ///
    /// The picture's pixels are read once, however many components there are: the waves are found in sums of at most 128 by
    /// 128 blocks. Up to that size the hash is the reference's own, above it one that looks the same.
    ///
    /// - Parameters:
    ///   - components: waves across and down, 1 to 9 each; 4 by 3 by default, which suits a landscape. More show more, in
    ///     2 characters each.
    ///   - background: what lies behind transparent pixels, since a BlurHash is opaque; white by default.
    ///   - cancellation: looked at every row.
    /// - Throws: ``WebImageError/processing(identifier:reason:)`` for other numbers of components,
    ///   ``WebImageError/cancelled``.
    public init(
        of image: Image, components: (x: Int, y: Int) = (4, 3), background: Color = .white,
        cancellation: Cancellation? = nil
    ) throws(WebImageError) {
        let range = 1...Self.maximumCount
        guard range.contains(components.x), range.contains(components.y) else {
            throw .processing(
                identifier: "blurHash",
                reason: .invalidParameter(name: "components", value: "\(components.x)×\(components.y)"))
        }
        let grid = try LightGrid(image.pixels, background: background, cancellation: cancellation)
        self.init(components: components, digits: Self.digits(of: grid.waves(components), components: components))
    }

    private static func digits(of waves: [SIMD3<Double>], components: (x: Int, y: Int)) -> Base83Digits {
        var digits = Base83Digits()
        digits.append(components.x - 1 + (components.y - 1) * maximumCount, count: 1)

        let others = waves.dropFirst()
        let largest = others.reduce(0) { max($0, abs($1.x), abs($1.y), abs($1.z)) }
        let largestLevel = Int(min(max((largest * 166 - 0.5).rounded(.down), 0), 82))
        digits.append(others.isEmpty ? 0 : largestLevel, count: 1)

        let average = SIMD3<Float>(waves[0])
        let bytes = SIMD3<Int>(
            truncatingIfNeeded: SIMD3(SRGB.byte(average.x), SRGB.byte(average.y), SRGB.byte(average.z)))
        digits.append(bytes.x << 16 | bytes.y << 8 | bytes.z, count: 4)

        let unit = Double(largestLevel + 1) / 166
        for wave in others {
            let levels = [wave.x, wave.y, wave.z].map { level(of: $0 / unit) }
            digits.append(levels.reduce(0) { $0 * levelCount + $1 }, count: 2)
        }
        return digits
    }

    /// Square roots, so that faint waves have more levels.
    private static func level(of value: Double) -> Int {
        let half = Double(levelCount / 2)
        let root = value < 0 ? -(-value).squareRoot() : value.squareRoot()
        return Int(min(max((root * half + half + 0.5).rounded(.down), 0), Double(levelCount - 1)))
    }
}
