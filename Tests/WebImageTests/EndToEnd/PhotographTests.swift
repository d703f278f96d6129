import Foundation
import Testing
import WebImage
import WebImageTestSupport

/// Real photographs, over a real server, compared with what Pillow makes of the same files.
@Suite(.timeLimit(.minutes(5)), .enabled(if: Photographs.areInstalled, "needs mate-backgrounds and python3-pil"))
struct PhotographTests {
    @Test(arguments: [
        "nature/Garden.jpg", "nature/TwoWings.jpg", "nature/FreshFlower.jpg", "abstract/Elephants.jpg",
        "desktop/Float-into-MATE.png",
    ])
    func pixelsEqualThoseOfPillow(name: String) async throws {
        let server = try NGINXServer(root: Photographs.directory)
        let manager = WebImageManager(
            configuration: WebImageManager.Configuration(
                cache: ImageCache(memory: MemoryCache(costLimit: 256 << 20), disk: nil),
                loaders: [ImageDownloader(configuration: ImageDownloader.Configuration())]))
        let image = try await manager.image(at: try server.url("/" + name))
        let comparison = try await Photographs.compare(image.pixels, withPillowsReadingOf: name)
        #expect(comparison.size == image.pixels.size)
        #expect(comparison.largestDifference <= 2, "the same libjpeg, and one rounding of premultiplication")
        #expect(comparison.meanDifference < 0.1)
    }
}

private enum Photographs {
    static let directory = "/usr/share/backgrounds/mate"

    static let areInstalled: Bool =
        FileManager.default.fileExists(atPath: directory) && (try? run("import PIL")) != nil

    struct Comparison: Decodable {
        let width: Int
        let height: Int
        let largestDifference: Int
        let meanDifference: Double

        var size: PixelSize { PixelSize(width: width, height: height) }
    }

    /// Lets Pillow read the file, multiply by alpha and compare: levels of 255 between it and `pixels`.
    static func compare(_ pixels: PixelBuffer, withPillowsReadingOf name: String) async throws -> Comparison {
        let directory = try TemporaryDirectory()
        let raw = try directory.write(pixels.withUnsafeBytes { Data($0) }, to: "pixels")
        let arguments = ["\(Self.directory)/\(name)", raw.path]
        let output = try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(with: Result { try run(comparison, arguments: arguments) })
            }
        }
        return try JSONDecoder().decode(Comparison.self, from: output)
    }

    private static let comparison = """
        import json, sys
        from PIL import Image, ImageChops, ImageStat
        picture = Image.open(sys.argv[1]).convert("RGBA")
        *colors, alpha = picture.split()
        theirs = Image.merge("RGBA", (*(ImageChops.multiply(color, alpha) for color in colors), alpha))
        ours = Image.frombytes("RGBA", picture.size, open(sys.argv[2], "rb").read())
        # Band by band: the difference of two alphas is 0, and Pillow takes that for "transparent".
        bands = [ImageChops.difference(a, b) for a, b in zip(ours.split(), theirs.split())]
        print(json.dumps({
            "width": picture.width, "height": picture.height,
            "largestDifference": max(band.getextrema()[1] for band in bands),
            "meanDifference": sum(ImageStat.Stat(band).mean[0] for band in bands) / 4,
        }))
        """

    @discardableResult
    private static func run(_ script: String, arguments: [String] = []) throws -> Data {
        let process = Process()
        // Debian's own Python: that is where its Pillow is.
        process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        process.arguments = ["-c", script] + arguments
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw CocoaError(.fileReadUnknown) }
        return data
    }
}
