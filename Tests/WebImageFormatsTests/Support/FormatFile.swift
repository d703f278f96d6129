import CodingTestSupport
import Foundation
import WebImageCoding
import WebImageCore
import WebImageTestSupport

@testable import WebImageFormats

/// Files that other programs make of our PNGs, in a directory of their own.
struct FormatFiles {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    static let registry = FormatLibraries.registry()

    /// Smooth, with one edge; alpha in the upper half if wanted.
    static func painting(_ size: PixelSize, hasAlpha: Bool = false) throws -> PixelBuffer {
        var buffer = try MutablePixelBuffer(width: size.width, height: size.height)
        buffer.withUnsafeMutableBytes { bytes in
            for y in 0..<size.height {
                for x in 0..<size.width {
                    let alpha = hasAlpha && y * 2 < size.height ? 255 * (x + 1) / size.width : 255
                    let colors = [255 * x / size.width, 255 * y / size.height, x * 2 < size.width ? 60 : 180]
                    for (channel, color) in (colors + [255]).enumerated() {
                        bytes[(y * size.width + x) * 4 + channel] = UInt8((color * alpha + 127) / 255)
                    }
                }
            }
        }
        return buffer.freeze(isOpaque: !hasAlpha)
    }

    /// Writes a PNG and returns its path.
    func png(_ name: String, _ pixels: PixelBuffer) throws -> String {
        let data = try Self.registry.encode(Image(pixels: pixels), as: .png)
        return try directory.write(data, to: name).path
    }

    func png(_ name: String, size: PixelSize, hasAlpha: Bool = false) throws -> String {
        try png(name, Self.painting(size, hasAlpha: hasAlpha))
    }

    func path(_ name: String) -> String { directory.path(name) }
    func data(_ name: String) throws -> Data { try Data(contentsOf: directory.url(name)) }

    @discardableResult
    func run(_ program: String, _ arguments: String...) throws -> Data {
        try OtherProgram.run("/usr/bin/" + program, arguments)
    }

    /// What a program decodes to a PNG.
    func pixels(ofPNG name: String) throws -> Pixels {
        Pixels(try CodecRegistry().decode(data(name)).pixels)
    }

    /// Makes a file of a PNG; `heif-enc` needs a plug-in that Debian 13 has in another package.
    func make(_ format: LibraryFormat, _ name: String, from png: String, isLossless: Bool = false) throws {
        // Some programs choose the format by the extension.
        let final = name
        let name = "made." + format.format.fileExtension
        defer { rename(path(name), path(final)) }
        switch format {
        case .avif:
            let quantizer = isLossless ? "0" : "12"
            try run("avifenc", "-s", "8", "-y", "444", "--min", "0", "--max", quantizer, png, path(name))
        case .heic: try run("heif-enc", "-q", isLossless ? "100" : "90", png, "-o", path(name))
        case .jpegXL: try run("cjxl", png, path(name), "-d", isLossless ? "0" : "1")
        case .tiff:
            let script = "import sys; from PIL import Image; Image.open(sys.argv[1]).save(sys.argv[2])"
            try OtherProgram.run(OtherProgram.python, ["-c", script, png, path(name)])
        case .jpeg2000:
            // Small images have fewer resolutions.
            let size = try pixels(ofPNG: URL(filePath: png).lastPathComponent).size
            let count = min(size.width, size.height) < 32 ? "1" : "6"
            try run("opj_compress", "-n", count, "-i", png, "-o", path(name))
        case .svg:
            let text = """
                <svg xmlns="http://www.w3.org/2000/svg" width="60" height="40">
                <rect width="30" height="20" fill="#08f"/><circle cx="40" cy="24" r="12" fill="red" opacity="0.5"/></svg>
                """
            try directory.write(Data(text.utf8), to: name)
        }
    }

    /// Decodes a file with another program.
    func decodeElsewhere(_ format: LibraryFormat, _ name: String) throws -> Pixels {
        let png = name + ".other.png"
        let named = "named." + format.format.fileExtension
        try directory.write(data(name), to: named)
        let name = named
        switch format {
        case .avif: try run("avifdec", path(name), path(png))
        case .heic: try run("heif-convert", path(name), path(png))
        case .jpegXL: try run("djxl", path(name), path(png))
        case .tiff:
            let script = "import sys; from PIL import Image; Image.open(sys.argv[1]).save(sys.argv[2])"
            try OtherProgram.run(OtherProgram.python, ["-c", script, path(name), path(png)])
        case .jpeg2000: try run("opj_decompress", "-i", path(name), "-o", path(png))
        case .svg: try run("rsvg-convert", path(name), "-o", path(png))
        }
        return try pixels(ofPNG: png)
    }

    /// Whether libheif has a plug-in that writes HEVC.
    static let canWriteHEIC =
        (try? registry.encode(
            Image(pixels: painting(PixelSize(width: 16, height: 16))), as: .heic)) != nil

    static let made = LibraryFormat.allCases.filter { $0.isBuilt && ($0 != .heic || canWriteHEIC) }
    static let written = made.filter { $0 != .svg }
    /// Those with the boxes of ISO's media files.
    static let media = made.filter { $0 == .avif || $0 == .heic }
}
