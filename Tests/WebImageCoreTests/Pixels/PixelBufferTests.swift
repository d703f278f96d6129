import Testing

@testable import WebImageCore

@Suite(.timeLimit(.minutes(3))) struct PixelBufferTests {
    @Test func keepsWrittenPixels() throws {
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
    func refusesInvalidSizes(width: Int, height: Int) {
        #expect(throws: WebImageError.limitExceeded(reason: .side(width: width, height: height))) {
            _ = try MutablePixelBuffer(width: width, height: height)
        }
    }

    @Test func isThawedInPlaceUnlessShared() throws {
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

    /// 40 by 30 pixels, each with its column and row.
    private func numbered(pool: PixelBufferPool = PixelBufferPool()) throws -> PixelBuffer {
        var pixels = try MutablePixelBuffer(width: 40, height: 30, pool: pool)
        pixels.withUnsafeMutableBytes { bytes in
            for index in 0..<40 * 30 {
                bytes[index * 4] = UInt8(index % 40)
                bytes[index * 4 + 1] = UInt8(index / 40)
                bytes[index * 4 + 2] = 7
                bytes[index * 4 + 3] = 255
            }
        }
        return pixels.freeze(isOpaque: true)
    }

    @Test func isCroppedWithoutCopyingIfAtLeastHalfRemains() throws {
        let whole = try numbered()
        let part = try #require(try whole.cropped(to: PixelRect(x: 4, y: 3, width: 30, height: 20)))
        #expect(part.size == PixelSize(width: 30, height: 20))
        #expect(whole.baseAddress.distance(to: part.baseAddress) == 496)
        #expect(part.byteCount == whole.byteCount)
        #expect(part.isOpaque)
        #expect(part[0, 0] == SIMD4(4, 3, 7, 255))
        #expect(part[29, 19] == SIMD4(33, 22, 7, 255))
        #expect(part.rowsByteCount == 3160)
        // A part of the part counts what it keeps, which is the whole's memory.
        let smaller = try #require(try part.cropped(to: PixelRect(x: 1, y: 1, width: 29, height: 19)))
        #expect(smaller.byteCount == 2204)
        #expect(smaller[0, 0] == SIMD4(5, 4, 7, 255))
    }

    @Test func croppingToASmallPartReleasesTheLargeBuffer() throws {
        let pool = PixelBufferPool()
        var whole: PixelBuffer? = try numbered(pool: pool)
        let part = try #require(try whole?.cropped(to: PixelRect(x: 10, y: 10, width: 5, height: 4)))
        #expect(part.byteCount == 5 * 4 * 4)
        #expect(part[4, 3] == SIMD4(14, 13, 7, 255))
        #expect(pool.freeByteCount == 0)
        whole = nil
        #expect(pool.freeByteCount >= 40 * 30 * 4)
    }

    @Test func retainsItsMemoryWhileAPartIsInUse() throws {
        let pool = PixelBufferPool()
        var whole: PixelBuffer? = try numbered(pool: pool)
        var part = try whole?.cropped(to: PixelRect(x: 0, y: 0, width: 40, height: 29))
        whole = nil
        #expect(pool.freeByteCount == 0)
        #expect(part?[39, 28] == SIMD4(39, 28, 7, 255))
        part = nil
        #expect(pool.freeByteCount > 0)
    }

    @Test func cropsToTheIntersection() throws {
        let whole = try numbered()
        #expect(try whole.cropped(to: PixelRect(x: -5, y: -5, width: 100, height: 100)) === whole)
        let corner = try #require(try whole.cropped(to: PixelRect(x: 38, y: 29, width: .max, height: .max)))
        #expect(corner.size == PixelSize(width: 2, height: 1))
        #expect(corner[1, 0] == SIMD4(39, 29, 7, 255))
        for outside in [
            PixelRect(x: 40, y: 0, width: 1, height: 1), PixelRect(x: 0, y: -3, width: 4, height: 3),
            PixelRect(x: 0, y: 0, width: 0, height: 5), PixelRect(x: 9, y: 9, width: -4, height: 4),
            PixelRect(x: .min, y: 0, width: .min, height: 1),
        ] {
            #expect(try whole.cropped(to: outside) == nil)
        }
    }

    @Test func thawingAPartDoesNotChangeTheWhole() throws {
        let whole = try numbered()
        var part = try whole.cropped(to: PixelRect(x: 5, y: 5, width: 35, height: 25))
        let changed = try changingFirstByte(of: &part, to: 99)
        #expect(part == nil)
        #expect(changed?[0, 0] == SIMD4(99, 5, 7, 255))
        #expect(changed?[34, 24] == SIMD4(39, 29, 7, 255))
        #expect(changed?.byteCount == 35 * 25 * 4)
        #expect(whole[5, 5] == SIMD4(5, 5, 7, 255))
        // Nor if the whole was released, and its memory has no other owner.
        part = try numbered().cropped(to: PixelRect(x: 5, y: 5, width: 35, height: 25))
        let own = try changingFirstByte(of: &part, to: 99)
        #expect(own?[34, 24] == SIMD4(39, 29, 7, 255))
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
