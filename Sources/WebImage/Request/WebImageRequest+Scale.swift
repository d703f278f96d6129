import FoundationEssentials

extension WebImageRequest {
    /// Pixels in a point as the file's name has it: 2 for `photo@2x.png`, 3 for `photo@3x.png`, also with the at sign
    /// written as `%40`; else 1.
    public var impliedScale: Double { Self.scale(inNameOf: url.absoluteString) }

    /// The scale of the result.
    var resolvedScale: Double { chosenScale ?? impliedScale }

    /// The request's own, if it is one.
    var chosenScale: Double? { scale.flatMap { $0.isFinite && $0 > 0 ? $0 : nil } }

    /// What stands before the last dot of the path's last component: `@2x` or `@3x`.
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
