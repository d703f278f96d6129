internal import WebImageCore

/// How the pixels of a gain map are applied to its image (ISO 21496-1).
///
/// A pixel of a channel is a number from 0 to 1. To the power of 1 / `gamma`, between `minimum` and `maximum`, it is the binary
/// logarithm of what linear light is multiplied by. A display with less headroom takes a part of it.
package struct GainMapMetadata: Sendable, Hashable {
    package struct Channel: Sendable, Hashable {
        /// Binary logarithms of gains.
        var minimum, maximum: Fraction
        var gamma: Fraction
        /// The numbers that are added to the light of the image before the gain, and subtracted after it.
        var baseOffset, alternateOffset: Fraction

        package init(
            minimum: Fraction, maximum: Fraction, gamma: Fraction, baseOffset: Fraction, alternateOffset: Fraction
        ) {
            (self.minimum, self.maximum, self.gamma) = (minimum, maximum, gamma)
            (self.baseOffset, self.alternateOffset) = (baseOffset, alternateOffset)
        }
    }

    /// The binary logarithms of how much brighter than white a display is, for which the image is made, and from which the whole gain is
    /// applied.
    var baseHeadroom, alternateHeadroom: Fraction
    /// One for all, or those of red, green and blue.
    var channels: [Channel]
    /// Whether gains are for the primaries of the image, and not for those of the brighter image.
    package var usesBaseColors: Bool

    /// `nil` for numbers that describe no gain map.
    package init?(baseHeadroom: Fraction, alternateHeadroom: Fraction, channels: [Channel], usesBaseColors: Bool) {
        guard [1, 3].contains(channels.count), baseHeadroom.isPositive(orZero: true),
            alternateHeadroom.isPositive(orZero: true),
            channels.allSatisfy({ $0.gamma.isPositive(orZero: false) && $0.minimum.value <= $0.maximum.value })
        else { return nil }
        (self.baseHeadroom, self.alternateHeadroom) = (baseHeadroom, alternateHeadroom)
        (self.channels, self.usesBaseColors) = (channels, usesBaseColors)
    }

    /// Whether the map makes the image brighter. With an image in HDR, it would make it darker.
    var brightens: Bool { baseHeadroom.value < alternateHeadroom.value }
}

/// A fraction as files have it.
package struct Fraction: Sendable, Hashable {
    let numerator: Int
    /// At least 1.
    let denominator: Int

    /// `nil` for numbers that do not fit in 32 bits each, and for a denominator of 0.
    package init?(_ numerator: Int, _ denominator: Int) {
        guard (Int(Int32.min)...Int(UInt32.max)).contains(numerator), (1...Int(UInt32.max)).contains(denominator) else {
            return nil
        }
        (self.numerator, self.denominator) = (numerator, denominator)
    }

    /// The closest fraction; `nil` for a number that does not fit.
    init?(_ value: Double) {
        guard value.isFinite, abs(value) < Double(Int32.max) else { return nil }
        var denominator = 1
        // Decimal texts stay exact.
        while denominator < 1_000_000_000, abs(value) * Double(denominator * 10) <= Double(Int32.max),
            value * Double(denominator) != (value * Double(denominator)).rounded()
        {
            denominator *= 10
        }
        self.init(Int((value * Double(denominator)).rounded()), denominator)
    }

    var value: Double { Double(numerator) / Double(denominator) }

    fileprivate func isPositive(orZero: Bool) -> Bool { orZero ? numerator >= 0 : numerator > 0 }
}

// MARK: ISO 21496-1

extension GainMapMetadata {
    /// Reads the structure of ISO 21496-1, annex C: the versions, flags, and fractions of 2 × 32 bits.
    package init?(iso bytes: [UInt8]) { self.init(iso: bytes.span.bytes) }

    init?(iso bytes: RawSpan) {
        guard bytes.integer(at: 0, count: 2, isBigEndian: true) == 0,
            let writerVersion = bytes.integer(at: 2, count: 2, isBigEndian: true), let flags = bytes.byte(at: 4)
        else { return nil }
        let channelCount = flags & Flag.isMultichannel != 0 ? 3 : 1
        // Drafts of the standard, which are still written, have a direction, and a denominator for all.
        guard flags & Flag.isBackward == 0 else { return nil }
        var offset = 5
        func number() -> Int? {
            defer { offset += 4 }
            return bytes.integer(at: offset, count: 4, isBigEndian: true)
        }
        let common = flags & Flag.hasCommonDenominator != 0 ? number() ?? 0 : nil
        func fraction(isSigned: Bool) -> Fraction? {
            guard let numerator = number(), let denominator = common ?? number() else { return nil }
            return Fraction(isSigned ? Int(Int32(truncatingIfNeeded: numerator)) : numerator, denominator)
        }
        guard let base = fraction(isSigned: false), let alternate = fraction(isSigned: false) else { return nil }
        var channels: [Channel] = []
        for _ in 0..<channelCount {
            guard let minimum = fraction(isSigned: true), let maximum = fraction(isSigned: true),
                let gamma = fraction(isSigned: false), let baseOffset = fraction(isSigned: true),
                let alternateOffset = fraction(isSigned: true)
            else { return nil }
            channels.append(
                Channel(
                    minimum: minimum, maximum: maximum, gamma: gamma, baseOffset: baseOffset,
                    alternateOffset: alternateOffset))
        }
        // Later versions may have more.
        guard writerVersion > 0 || offset == bytes.byteCount else { return nil }
        self.init(
            baseHeadroom: base, alternateHeadroom: alternate, channels: channels,
            usesBaseColors: flags & Flag.usesBaseColors != 0)
    }

    /// The structure of ISO 21496-1.
    package var iso: [UInt8] {
        var bytes: [UInt8] = [0, 0, 0, 0]
        bytes.append((channels.count == 3 ? Flag.isMultichannel : 0) | (usesBaseColors ? Flag.usesBaseColors : 0))
        func append(_ fraction: Fraction) {
            bytes.append(number: fraction.numerator, 4)
            bytes.append(number: fraction.denominator, 4)
        }
        append(baseHeadroom)
        append(alternateHeadroom)
        for channel in channels {
            for fraction in [
                channel.minimum, channel.maximum, channel.gamma, channel.baseOffset, channel.alternateOffset,
            ] {
                append(fraction)
            }
        }
        return bytes
    }

    private enum Flag {
        static let isMultichannel: UInt8 = 0x80
        static let usesBaseColors: UInt8 = 0x40
        static let hasCommonDenominator: UInt8 = 0x08
        static let isBackward: UInt8 = 0x04
    }
}
