import BenchmarkReport
import CWebImageGTK
import Foundation

/// What runs in a process of its own, so that its memory and processor time are its own.
///
/// It prints its figures as one line of `name=value`.
enum MeasuredPart: String {
    case grid
    case animations
    case firstPicture = "first-picture"

    /// Runs the part that the arguments name, and ends the process.
    static func run(_ arguments: [String]) -> Never {
        guard let part = arguments.first.flatMap(MeasuredPart.init), gtk_init_check() != 0 else { exit(2) }
        do {
            let arguments = Array(arguments.dropFirst())
            try MainActor.assumeIsolated { [arguments] in
                let figures: [String: Double] =
                    switch part {
                    case .grid: try GridRun(arguments).figures()
                    case .animations: try AnimationRun(arguments).figures()
                    case .firstPicture: try FirstPictureRun(arguments).figures()
                    }
                print(figures.map { "\($0.key)=\($0.value)" }.joined(separator: " "))
            }
        } catch {
            print(error)
            exit(1)
        }
        exit(0)
    }

    /// Runs it in another process and reads its figures.
    static func measure(_ part: MeasuredPart, _ arguments: [String]) throws -> [String: Double] {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["--part", part.rawValue] + arguments
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw WrongResult(description: "\(part.rawValue) \(arguments.joined(separator: " ")) failed: \(text)")
        }
        return text.split(whereSeparator: \.isWhitespace).reduce(into: [:]) { figures, field in
            let parts = field.split(separator: "=")
            if parts.count == 2, let value = Double(parts[1]) { figures[String(parts[0])] = value }
        }
    }
}
