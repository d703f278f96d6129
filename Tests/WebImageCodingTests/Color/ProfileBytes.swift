import Foundation

@testable import WebImageCoding

/// Builds ICC profiles, sound and broken.
struct ProfileBytes {
    var kind = "mntr"
    var space = "RGB "
    var connection = "XYZ "
    var tags: [(name: String, content: [UInt8])] = []

    /// A display with one curve for its three lights.
    static func display(_ primaries: ColorPrimaries, curve: [UInt8]) -> ProfileBytes {
        let columns = primaries.matrixToConnectionSpace.map { [$0.columns.0, $0.columns.1, $0.columns.2] } ?? []
        let lights = zip(["rXYZ", "gXYZ", "bXYZ"], columns).map { (name: $0, content: xyz($1)) }
        return ProfileBytes(tags: lights + ["rTRC", "gTRC", "bTRC"].map { ($0, curve) })
    }

    static func gray(curve: [UInt8]) -> ProfileBytes {
        ProfileBytes(space: "GRAY", tags: [("kTRC", curve)])
    }

    var bytes: [UInt8] {
        var table = number(tags.count, count: 4)
        var contents: [UInt8] = []
        let start = 128 + 4 + tags.count * 12
        for tag in tags {
            table +=
                Array(tag.name.utf8) + number(start + contents.count, count: 4) + number(tag.content.count, count: 4)
            contents += tag.content + [UInt8](repeating: 0, count: (4 - tag.content.count % 4) % 4)
        }
        var header = number(start + contents.count, count: 4) + number(0, count: 4) + number(0x0240_0000, count: 4)
        header += Array((kind + space + connection).utf8) + [UInt8](repeating: 0, count: 12) + Array("acsp".utf8)
        header += [UInt8](repeating: 0, count: 28) + [0.9642, 1, 0.8249].flatMap(fixed)
        header += [UInt8](repeating: 0, count: 128 - header.count)
        return header + table + contents
    }

    func profile() -> ColorProfile? { ColorProfile(bytes) }
}

extension ColorPrimaries {
    static let adobeRGB = ColorPrimaries(red: [0.64, 0.33], green: [0.21, 0.71], blue: [0.15, 0.06], white: d65)
    static let proPhoto = ColorPrimaries(
        red: [0.734699, 0.265301], green: [0.159597, 0.840403], blue: [0.036598, 0.000105], white: [0.345704, 0.35854])
}

func number(_ value: Int, count: Int) -> [UInt8] {
    (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
}

func fixed(_ value: Double) -> [UInt8] { number(Int((value * 65536).rounded()), count: 4) }

func xyz(_ color: SIMD3<Double>) -> [UInt8] { Array("XYZ \0\0\0\0".utf8) + [color.x, color.y, color.z].flatMap(fixed) }

func curve(_ points: [Int]) -> [UInt8] {
    Array("curv\0\0\0\0".utf8) + number(points.count, count: 4) + points.flatMap { number($0, count: 2) }
}

func gammaCurve(_ gamma: Double) -> [UInt8] { curve([Int((gamma * 256).rounded())]) }

func formulaCurve(_ type: Int, _ numbers: [Double]) -> [UInt8] {
    Array("para\0\0\0\0".utf8) + number(type, count: 2) + [0, 0] + numbers.flatMap(fixed)
}

let sRGBCurve = formulaCurve(3, [2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045])
