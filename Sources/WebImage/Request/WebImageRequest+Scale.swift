import FoundationEssentials

extension WebImageRequest {
    /// The pixels per point that the file name implies: 2 for `photo@2x.png`, 3 for `photo@3x.png`, otherwise 1. The at sign
    /// may be written as `%40`.
    public var impliedScale: Double { Self.scale(inNameOf: url.absoluteString) }

    /// The scale of the result.
    var resolvedScale: Double { chosenScale ?? impliedScale }

    /// The request's own scale, if it is valid.
    var chosenScale: Double? { scale.flatMap { $0.isFinite && $0 > 0 ? $0 : nil } }

    /// Returns the scale from `@2x` or `@3x` before the last dot of the path's last component; 1 without it.
    static func scale(inNameOf address: String) -> Double {
        var address = address
        return address.withUTF8 { bytes in
            let path = bytes.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
            guard let dot = path.lastIndex(of: UInt8(ascii: ".")) else { return 1 }
            let name = path[..<dot].suffix(5)
            guard !path[dot...].contains(UInt8(ascii: "/")), name.last == UInt8(ascii: "x") else { return 1 }
            let digit = name.dropLast().last
            let sign = name.dropLast(2)
            guard sign.last == UInt8(ascii: "@") || sign.elementsEqual("%40".utf8) else { return 1 }
            return digit == UInt8(ascii: "2") ? 2 : digit == UInt8(ascii: "3") ? 3 : 1
        }
    }
}
