package import Foundation
import WebImageCore
import WebImageTestSupport

/// Programs that read our files.
package enum OtherProgram {
    /// Debian's Python, which has Pillow.
    package static let python = "/usr/bin/python3"
    /// The name in ImageMagick 7, or in earlier versions.
    package static let imageMagick = ["/usr/bin/magick", "/usr/bin/convert"].first(where: isInstalled) ?? "magick"

    package static let hasPillow = (try? run(python, ["-c", "import PIL"])) != nil

    package static func isInstalled(_ path: String) -> Bool { FileManager.default.isExecutableFile(atPath: path) }

    /// Returns the output of a program.
    @discardableResult
    package static func run(_ path: String, _ arguments: [String]) throws -> Data {
        let process = Process()
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw ProgramFailure(program: path, output: data) }
        return data
    }

    package struct ProgramFailure: Error, CustomStringConvertible {
        package let program: String
        package let output: Data
        package var description: String { "\(program) failed: \(String(decoding: output, as: UTF8.self))" }
    }

    /// The frames that Pillow reads from a file, with straight alpha.
    package struct PillowReading: Decodable {
        package let frames: [Data]
        package let width: Int
        package let height: Int
        /// In milliseconds.
        package let durations: [Double]
        /// As stored; `nil` if missing.
        package let loop: Int?
        package let isProgressive: Bool
    }

    package static func pillowReading(of file: URL) throws -> PillowReading {
        let script = """
            import base64, json, sys
            from PIL import Image
            image = Image.open(sys.argv[1])
            frames, durations = [], []
            for index in range(getattr(image, "n_frames", 1)):
                image.seek(index)
                frames.append(base64.b64encode(image.convert("RGBA").tobytes()).decode())
                durations.append(image.info.get("duration", 0))
            print(json.dumps({"frames": frames, "durations": durations, "loop": image.info.get("loop"),
                "width": image.width, "height": image.height, "isProgressive": "progressive" in image.info}))
            """
        return try JSONDecoder().decode(PillowReading.self, from: run(python, ["-c", script, file.path]))
    }
}
