internal import Glibc

/// Reads the numbers in an attribute's value, one after the other.
struct SVGNumbers {
    private let bytes: ArraySlice<UInt8>
    private var position: Int

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    init(_ bytes: [UInt8]) { self.init(bytes[...]) }

    /// The first number, without its unit.
    static func first(_ bytes: [UInt8]?) -> Double? {
        guard let bytes else { return nil }
        var numbers = SVGNumbers(bytes)
        return numbers.next()
    }

    /// A length in pixels; `nil` without a number, and for a percentage.
    static func length(_ bytes: [UInt8]?) -> Double? {
        guard let bytes else { return nil }
        var numbers = SVGNumbers(bytes)
        guard let number = numbers.next() else { return nil }
        switch String(decoding: numbers.rest.prefix(2), as: UTF8.self).lowercased() {
        case "in": return number * 96
        case "cm": return number * 96 / 2.54
        case "mm": return number * 96 / 25.4
        case "pt": return number * 96 / 72
        case "pc", "em", "ex": return number * 16
        case let unit where unit.hasPrefix("%"): return nil
        default: return number
        }
    }

    var rest: ArraySlice<UInt8> { bytes[position...] }

    /// Skips separators, and returns the letter of a command if one follows.
    mutating func command() -> UInt8? {
        skipSeparators()
        guard position < bytes.endIndex, (bytes[position] | 0x20) >= UInt8(ascii: "a") else { return nil }
        position += 1
        return bytes[position - 1]
    }

    /// Returns a flag of an arc, which may stand without a separator.
    mutating func flag() -> Double? {
        skipSeparators()
        guard position < bytes.endIndex, bytes[position] == UInt8(ascii: "0") || bytes[position] == UInt8(ascii: "1")
        else { return nil }
        position += 1
        return Double(bytes[position - 1] - 48)
    }

    /// Returns `nil` where no number follows.
    mutating func next() -> Double? {
        skipSeparators()
        let start = position
        var (value, isNegative, hasDigits) = (0.0, false, false)
        if let sign = byte, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") {
            isNegative = sign == UInt8(ascii: "-")
            position += 1
        }
        while let digit {
            value = value * 10 + digit
            hasDigits = true
            position += 1
        }
        if byte == UInt8(ascii: ".") {
            position += 1
            var unit = 0.1
            while let digit {
                value += digit * unit
                unit /= 10
                hasDigits = true
                position += 1
            }
        }
        guard hasDigits else {
            position = start
            return nil
        }
        if let exponent = byte, exponent | 0x20 == UInt8(ascii: "e") { value *= exponentFactor() }
        return isNegative ? -value : value
    }

    /// Reads an exponent; nothing where no digits follow the letter, as in the unit `em`.
    private mutating func exponentFactor() -> Double {
        let start = position
        position += 1
        var isNegative = false
        if let sign = byte, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") {
            isNegative = sign == UInt8(ascii: "-")
            position += 1
        }
        var (exponent, hasDigits) = (0.0, false)
        while let digit {
            exponent = min(exponent * 10 + digit, 400)
            hasDigits = true
            position += 1
        }
        guard hasDigits else {
            position = start
            return 1
        }
        return pow(10, isNegative ? -exponent : exponent)
    }

    mutating func skipByte() { if position < bytes.endIndex { position += 1 } }

    private mutating func skipSeparators() {
        while let byte, XMLReader.isSpace(byte) || byte == UInt8(ascii: ",") { position += 1 }
    }

    private var byte: UInt8? { position < bytes.endIndex ? bytes[position] : nil }
    private var digit: Double? {
        guard let byte, UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte else { return nil }
        return Double(byte - 48)
    }
}

/// The extent of a shape, and how many points it has.
struct SVGExtent {
    private(set) var pointCount = 0
    private var (left, top, right, bottom) = (Double.infinity, Double.infinity, -Double.infinity, -Double.infinity)

    var width: Double { max(0, right - left) }
    var height: Double { max(0, bottom - top) }

    init() {}

    /// The extent of a path's data: of its points and control points. Unknown text ends it, as in librsvg.
    init(path data: [UInt8]) {
        var numbers = SVGNumbers(data)
        var (x, y, startX, startY) = (0.0, 0.0, 0.0, 0.0)
        var command: UInt8?
        while true {
            if let next = numbers.command() { command = next }
            guard let letter = command else { return }
            let isRelative = letter >= UInt8(ascii: "a")
            let (baseX, baseY) = isRelative ? (x, y) : (0, 0)
            switch letter & 0xDF {
            case UInt8(ascii: "Z"):
                (x, y) = (startX, startY)
                command = nil
                continue
            case UInt8(ascii: "H"):
                guard let value = numbers.next() else { return }
                x = baseX + value
            case UInt8(ascii: "V"):
                guard let value = numbers.next() else { return }
                y = baseY + value
            case UInt8(ascii: "A"):
                guard let radiusX = numbers.next(), let radiusY = numbers.next(), numbers.next() != nil,
                    numbers.flag() != nil, numbers.flag() != nil, let endX = numbers.next(), let endY = numbers.next()
                else { return }
                let (reachX, reachY) = (2 * abs(radiusX), 2 * abs(radiusY))
                let reach = min(max(reachX, reachY), 1e9)
                include(x - reach, y - reach)
                include(x + reach, y + reach)
                (x, y) = (baseX + endX, baseY + endY)
            case UInt8(ascii: "M"), UInt8(ascii: "L"), UInt8(ascii: "T"), UInt8(ascii: "C"), UInt8(ascii: "S"),
                UInt8(ascii: "Q"):
                let pairCount = [UInt8(ascii: "C"): 3, UInt8(ascii: "S"): 2, UInt8(ascii: "Q"): 2][letter & 0xDF] ?? 1
                for _ in 0..<pairCount {
                    guard let valueX = numbers.next(), let valueY = numbers.next() else { return }
                    (x, y) = (baseX + valueX, baseY + valueY)
                    include(x, y)
                }
                if letter & 0xDF == UInt8(ascii: "M") {
                    (startX, startY) = (x, y)
                    command = isRelative ? UInt8(ascii: "l") : UInt8(ascii: "L")
                }
            default: return
            }
            include(x, y)
            pointCount += 1
        }
    }

    /// The extent of a list of points.
    init(points data: [UInt8]) {
        var numbers = SVGNumbers(data)
        while let x = numbers.next(), let y = numbers.next() {
            include(x, y)
            pointCount += 1
        }
    }

    init(width: Double, height: Double) {
        include(0, 0)
        include(width, height)
    }

    mutating func include(_ x: Double, _ y: Double) {
        (left, right) = (min(left, x), max(right, x))
        (top, bottom) = (min(top, y), max(bottom, y))
    }
}

/// The maximum factor by which a list of transforms enlarges a length.
func enlargement(ofTransforms value: [UInt8]) -> Double {
    var factor = 1.0
    var rest = value[...]
    while let start = rest.firstIndex(of: UInt8(ascii: "(")) {
        let name = String(decoding: rest[..<start].suffix(12), as: UTF8.self).lowercased()
        let end = rest[start...].firstIndex(of: UInt8(ascii: ")")) ?? rest.endIndex
        var numbers = SVGNumbers(rest[rest.index(after: start)..<end])
        let values = (0..<6).map { _ in numbers.next() }
        if name.contains("scale") {
            factor *= max(abs(values[0] ?? 1), abs(values[1] ?? values[0] ?? 1))
        } else if name.contains("matrix") {
            let (a, b, c, d) = (values[0] ?? 1, values[1] ?? 0, values[2] ?? 0, values[3] ?? 1)
            factor *= max(hypot(a, b), hypot(c, d)) * (abs(a * c + b * d) < 1e-9 ? 1 : 1.4143)
        } else if name.contains("skew") {
            factor *= 1 + abs(tan((values[0] ?? 0) * .pi / 180))
        }
        rest = end < rest.endIndex ? rest[rest.index(after: end)...] : []
    }
    return factor.isFinite ? factor : 1e9
}
