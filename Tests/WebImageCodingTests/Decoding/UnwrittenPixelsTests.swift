import Foundation
import Testing
import WebImageCore

@testable import WebImageCoding

/// Memory comes with whatever was in it before: other people's pictures. Nothing of that may show.
@Suite(.serialized) struct UnwrittenPixelsTests {
    @Test(arguments: [
        "rgba-8.png", "palette-2-adam7.png", "rgba-16-adam7.png", "grey-1.png", "animated.png", "87a.gif",
        "interlaced.gif", "offset.gif", "gif-mixed.gif", "gif-outside.gif",
    ])
    func showsNothingOfWhatWasInItsMemory(_ name: String) throws {
        let data = try Fixture(name).data()
        for length in stride(from: 20, through: data.count, by: 13) {
            let pictures = decoded(data.prefix(length), over: 0x5A)
            #expect(pictures == decoded(data.prefix(length), over: 0xA5), "\(length) bytes")
            if length > data.count * 9 / 10 { #expect(!pictures.isEmpty) }
        }
    }

    /// All that can be shown of `data`: a preview, the picture, the frames.
    private func decoded(_ data: Data, over byte: UInt8) -> [Pixels] {
        let registry = CodecRegistry.shared
        var pictures: [Pixels] = []
        func collect(_ decode: () throws -> PixelBuffer?) {
            soilPool(with: byte)
            if let pixels = try? decode() { pictures.append(Pixels(pixels)) }
        }
        collect {
            let decoder = decoder(for: data)?.makeIncrementalDecoder(options: DecodingOptions())
            try decoder?.append(data)
            return try decoder?.preview()?.pixels
        }
        collect { try registry.decode(data).pixels }
        guard let animation = try? decoder(for: data)?.animation(of: data, options: DecodingOptions()) else {
            return pictures
        }
        let reader = animation.makeFrameReader()
        for index in animation.frames.indices { collect { try reader.frame(at: index, cancellation: nil) } }
        return pictures
    }

    private func decoder(for data: Data) -> (any ImageDecoder)? {
        [PNGDecoder(), GIFDecoder()].first { $0.canDecode(data) }
    }

    /// Fills blocks of the size that all small pictures share.
    private func soilPool(with byte: UInt8) {
        PixelBufferPool.shared.removeAll()
        let buffers = (0..<8).compactMap { _ in
            try? Pixels(size: PixelSize(width: 32, height: 32), bytes: Array(repeating: byte, count: 4096)).buffer()
        }
        withExtendedLifetime(buffers) {}
    }
}
