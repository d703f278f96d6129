package import FoundationEssentials

/// Code streams whose headers claim whatever they like.
package struct CodestreamMaker {
    package var width = 64
    package var height = 64
    package var tile: (width: Int, height: Int)?
    package var components = [(depth: Int, dx: Int, dy: Int)](repeating: (8, 1, 1), count: 3)
    package var levels = 5
    package var layers = 1
    /// Exponents of the sides of code blocks, less 2.
    package var block = 4
    /// The precincts of all resolutions, as in a COD marker; `nil` for the largest.
    package var precinct: UInt8?
    /// Markers before the first tile part, and at the start of each.
    package var mainMarkers = Data()
    package var tileMarkers = Data()
    package var tileCount = 1

    package init(
        width: Int = 64, height: Int = 64, tile: (width: Int, height: Int)? = nil,
        components: [(depth: Int, dx: Int, dy: Int)] = [(depth: Int, dx: Int, dy: Int)](repeating: (8, 1, 1), count: 3),
        levels: Int = 5, layers: Int = 1, block: Int = 4, precinct: UInt8? = nil, tileCount: Int = 1
    ) {
        (self.width, self.height, self.tile, self.components) = (width, height, tile, components)
        (self.levels, self.layers, self.block, self.precinct) = (levels, layers, block, precinct)
        self.tileCount = tileCount
    }

    package var data: Data {
        let size = tile ?? (width, height)
        let numbers = [width, height, 0, 0, size.width, size.height, 0, 0]
        var sizes = 0.bytes(2) + numbers.reduce(Data()) { $0 + $1.bytes(4) } + components.count.bytes(2)
        for component in components {
            sizes += Data([UInt8(component.depth - 1), UInt8(component.dx), UInt8(component.dy)])
        }
        let steps = Data([0x40]) + Data(repeating: 0x40, count: 3 * levels + 1)
        let head = Data([0xFF, 0x4F]) + Self.marker(0x51, sizes) + style + Self.marker(0x5C, steps) + mainMarkers
        return (0..<tileCount).reduce(head) { $0 + Self.tilePart($1, tileMarkers) } + Data([0xFF, 0xD9])
    }

    package var style: Data {
        let head = Data([precinct == nil ? 0 : 1, 0]) + layers.bytes(2)
        let coding = Data([0, UInt8(levels), UInt8(block), UInt8(block), 0, 1])
        return Self.marker(0x52, head + coding + (precinct.map { Data(repeating: $0, count: levels + 1) } ?? Data()))
    }

    package static func marker(_ code: UInt8, _ content: Data) -> Data {
        Data([0xFF, code]) + (content.count + 2).bytes(2) + content
    }

    package static func tilePart(_ index: Int, _ markers: Data = Data(), length: Int? = nil) -> Data {
        let content = markers + Data([0xFF, 0x93]) + Data(count: 8)
        let head = index.bytes(2) + (length ?? 12 + content.count).bytes(4) + Data([0, 1])
        return marker(0x90, head) + content
    }
}

extension Int {
    /// Big-endian.
    fileprivate func bytes(_ count: Int) -> Data {
        Data((0..<count).reversed().map { UInt8(truncatingIfNeeded: self >> ($0 * 8)) })
    }
}
