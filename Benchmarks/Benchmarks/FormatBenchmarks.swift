#if WEBIMAGE_FORMATS
    import CWebImageBenchmarkPeers
    import FoundationEssentials
    import WebImageCoding
    import WebImageCore
    import WebImageIsolation

    extension BenchmarkGroup {
        /// The formats of libraries, in decoder processes, beside the libraries alone in this process and other programs.
        static func compareFormats(_ pixels: PixelBuffer, _ title: String, in table: BenchmarkTable) throws {
            CodecRegistry.shared.registerHEICEncoder()
            let samples = try CodingSample.ofLibraries(pixels, title)
            for sample in samples { try compareWithBareLibrary(sample, in: table) }
            try compareWithOtherPrograms(samples, in: table)
        }

        /// An SVG with a thousand shapes.
        static func compareDrawing(in table: BenchmarkTable) throws {
            let size = PixelSize(width: 800, height: 600)
            let shapes = (0..<1000).map { index in
                """
                <path d="M\(index % 40 * 20) \(index / 40 * 24)c10 0 18 8 18 18s-9 4-18 0z" fill="#\(100 + index % 800)"
                opacity="0.\(1 + index % 9)"/>
                """
            }
            let data = Data(
                ("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"800\" height=\"600\">" + shapes.joined() + "</svg>")
                    .utf8)
            var reused = [UInt8](repeating: 0, count: size.pixelCount * 4)
            func draw() throws {
                let isDrawn = data.withUnsafeBytes { bytes in
                    peer_draw_svg(
                        bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count, UInt32(size.width),
                        UInt32(size.height), &reused)
                }
                guard isDrawn else { throw WrongResult(description: "librsvg drew nothing") }
            }
            try draw()
            for start in stride(from: 0, to: reused.count, by: 4) { reused.swapAt(start, start + 2) }
            let image = try CodecRegistry.shared.decode(data)
            guard image.pixels.withUnsafeBytes({ $0.elementsEqual(reused) }) else {
                throw WrongResult(description: "SVG: our pixels are not librsvg's")
            }
            try table.compare("SVG, 1,000 shapes, against librsvg", roundCount: 9) {
                _ = try CodecRegistry.shared.decode(data)
            } yardstick: {
                try draw()
            }
        }
    }

    extension CodingSample {
        /// The photograph in every format that has a library.
        static func ofLibraries(_ pixels: PixelBuffer, _ title: String) throws -> [CodingSample] {
            let photo = Image(pixels: pixels)
            var options = EncodingOptions(quality: 0.6)
            options.speed = 9
            func encoded(as format: ImageFormat) throws -> Data {
                try CodecRegistry.shared.encode(photo, as: format, options: options)
            }
            return try [
                CodingSample("AVIF, \(title)", encoded(as: .avif), "libavif", peer_decode_avif),
                CodingSample("HEIC, \(title)", encoded(as: .heic), "libheif", peer_decode_heic),
                CodingSample("JPEG XL, \(title)", encoded(as: .jpegXL), "libjxl", peer_decode_jxl),
                CodingSample("TIFF, \(title)", encoded(as: .tiff), "libtiff", peer_decode_tiff),
                CodingSample("JPEG 2000, \(title)", encoded(as: .jpeg2000), "OpenJPEG", peer_decode_jp2),
            ]
        }
    }
#endif
