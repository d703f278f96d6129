#if WEBIMAGE_PEERS
    import CWebImageBenchmarkPeers
    import Foundation
    import WebImageCoding
    import WebImageCore

    extension BenchmarkGroup {
        /// All frames of animations, composed, beside giflib and Pillow: 60 frames of 480×270 pixels.
        static let animation = BenchmarkGroup(name: "animation") { table in
            for (name, isWhole) in [("noise", true), ("small changes", false)] {
                let data = try sampleGIF(isWhole: isWhole)
                try checkFrames(of: data)
                try compareWithGIFLib(data, "GIF, a frame, \(name), against giflib", in: table)
                try compareWithPillow(data, "GIF, a frame, \(name), against Pillow", in: table)
            }
        }

        private static let frameCount = 60
        private static let size = PixelSize(width: 480, height: 270)

        private static func sampleGIF(isWhole: Bool) throws -> Data {
            var length = 0
            guard let bytes = peer_make_gif(Int32(size.width), Int32(size.height), Int32(frameCount), isWhole, &length)
            else { throw WrongResult(description: "giflib made no GIF") }
            return Data(bytesNoCopy: bytes, count: length, deallocator: .free)
        }

        private static func forEachFrame(of data: Data, _ body: (Int, PixelBuffer) throws -> Void) throws {
            guard let animation = try GIFDecoder().animation(of: data, options: DecodingOptions()) else {
                throw WrongResult(description: "no animation")
            }
            let reader = animation.makeFrameReader()
            for index in animation.frames.indices { try body(index, reader.frame(at: index, cancellation: nil)) }
        }

        /// Frames are compared by their hashes.
        private static func checkFrames(of data: Data) throws {
            var hashes = [UInt64](repeating: 0, count: frameCount)
            try decodeWithGIFLib(data, hashes: &hashes)
            try forEachFrame(of: data) { index, pixels in
                let hash = pixels.withUnsafeBytes { bytes in
                    bytes.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
                }
                guard hash == hashes[index] else { throw WrongResult(description: "frame \(index) is not giflib's") }
            }
        }

        private static func decodeWithGIFLib(_ data: Data, hashes: UnsafeMutablePointer<UInt64>?) throws {
            var canvas = [UInt8](repeating: 0, count: size.pixelCount * 4)
            let isGood = data.withUnsafeBytes { bytes in
                peer_decode_gif(
                    bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count, &canvas, canvas.count, hashes)
            }
            guard isGood else { throw WrongResult(description: "giflib can't read it") }
        }

        private static func compareWithGIFLib(_ data: Data, _ name: String, in table: BenchmarkTable) throws {
            try table.compare(
                name, operationCount: frameCount,
                ours: { try forEachFrame(of: data) { _, _ in } },
                yardstick: { try decodeWithGIFLib(data, hashes: nil) })
        }

        /// Pillow measures itself, in a process of its own, so that Python's start does not count.
        private static func compareWithPillow(_ data: Data, _ name: String, in table: BenchmarkTable) throws {
            let file = FileManager.default.temporaryDirectory.appending(path: "webimage-\(UUID().uuidString).gif")
            try data.write(to: file)
            defer { try? FileManager.default.removeItem(at: file) }
            let script = """
                import sys, time
                from PIL import Image
                times = []
                for _ in range(5):
                    start = time.perf_counter()
                    image = Image.open(sys.argv[1])
                    for index in range(image.n_frames):
                        image.seek(index)
                        image.convert("RGBA").load()
                    times.append(time.perf_counter() - start)
                print(sorted(times)[2])
                """
            let process = Process()
            let output = Pipe()
            process.executableURL = URL(filePath: "/usr/bin/python3")
            process.arguments = ["-c", script, file.path]
            process.standardOutput = output
            try process.run()
            let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            guard let seconds = Double(text.trimmingCharacters(in: .whitespacesAndNewlines)) else {
                throw WrongResult(description: "Pillow measured nothing")
            }
            try table.compare(
                name, yardstick: .seconds(seconds) / frameCount, operationCount: frameCount,
                ours: { try forEachFrame(of: data) { _, _ in } })
        }
    }
#endif
