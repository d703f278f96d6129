import Testing

@testable import WebImageCore

@Suite struct PixelBufferTests {
    @Test func keepsWhatWasWritten() throws {
        var pixels = try MutablePixelBuffer(width: 3, height: 2)
        #expect(pixels.size == PixelSize(width: 3, height: 2))
        pixels.withUnsafeMutableBytes { $0.copyBytes(from: 0..<24) }
        let buffer = pixels.freeze(isOpaque: false)
        #expect(buffer[0, 0] == SIMD4(0, 1, 2, 3))
        #expect(buffer[2, 1] == SIMD4(20, 21, 22, 23))
        #expect(buffer.byteCount == 24)
        #expect(!buffer.isOpaque)
        #expect(buffer.withUnsafeBytes { Array($0) } == Array(0..<24))
    }

    @Test func clearsEveryByte() throws {
        let pool = PixelBufferPool()
        var first: PixelBuffer? = try filled(with: 7, pool: pool)
        #expect(first?[0, 0].x == 7)
        first = nil
        var pixels = try MutablePixelBuffer(width: 33, height: 31, pool: pool)
        pixels.clear()
        let buffer = pixels.freeze(isOpaque: false)
        #expect(buffer.withUnsafeBytes { $0.allSatisfy { $0 == 0 } })
    }

    @Test(arguments: [(1, 1), (33, 31), (1500, 1500)])
    func startsAtAMultipleOf64Bytes(width: Int, height: Int) throws {
        let buffer = try MutablePixelBuffer(width: width, height: height).freeze(isOpaque: true)
        #expect(Int(bitPattern: buffer.baseAddress) % 64 == 0)
    }

    @Test(arguments: [(0, 1), (1, 0), (-1, 5), (65_536, 1), (1, 65_536), (Int.max, Int.max)])
    func refusesSizesNoPictureHas(width: Int, height: Int) {
        #expect(throws: WebImageError.invalidSize(width: width, height: height)) {
            _ = try MutablePixelBuffer(width: width, height: height)
        }
    }

    @Test func isThawedInPlaceUnlessSomebodyElseHasIt() throws {
        var own: PixelBuffer? = try filled(with: 7, pool: PixelBufferPool())
        let address = own?.baseAddress
        let changed = try changingFirstByte(of: &own, to: 9)
        #expect(own == nil)
        #expect(changed?.baseAddress == address)
        #expect(changed?[0, 0] == SIMD4(9, 7, 7, 7))

        own = changed
        let copy = try changingFirstByte(of: &own, to: 1)
        #expect(own == nil)
        #expect(changed?[0, 0].x == 9)
        #expect(copy?[0, 0] == SIMD4(1, 7, 7, 7))
        #expect(copy?[32, 30] == SIMD4(7, 7, 7, 7))
        let none = try changingFirstByte(of: &own, to: 1)
        #expect(none == nil)
    }

    private func changingFirstByte(of buffer: inout PixelBuffer?, to byte: UInt8) throws -> PixelBuffer? {
        guard var pixels = try MutablePixelBuffer(thawing: &buffer) else { return nil }
        pixels.withUnsafeMutableBytes { $0[0] = byte }
        return pixels.freeze(isOpaque: false)
    }

    private func filled(with byte: UInt8, pool: PixelBufferPool) throws -> PixelBuffer {
        var pixels = try MutablePixelBuffer(width: 33, height: 31, pool: pool)
        pixels.withUnsafeMutableBytes { bytes in
            for index in bytes.indices { bytes[index] = byte }
        }
        return pixels.freeze(isOpaque: false)
    }
}
