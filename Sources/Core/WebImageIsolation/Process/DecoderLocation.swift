internal import Glibc

/// Where the program `webimage-decoder` is. `PATH` is not searched: its value could lead to another program.
struct DecoderLocation: Sendable, Equatable {
    /// An explicit path, which takes precedence.
    let explicit: String?

    static let name = "webimage-decoder"

    /// Returns the first of the places that has the program.
    func path() throws(UnavailableDecoder) -> String {
        let places = explicit.map { [$0] } ?? Self.places(besideProgram: Self.programPath)
        for place in places where access(place, X_OK) == 0 { return place }
        guard let explicit else {
            throw UnavailableDecoder("\(Self.name) is not in \(places.joined(separator: ", "))")
        }
        throw UnavailableDecoder("\(explicit) cannot be executed")
    }

    /// Beside the program, where SwiftPM builds it and an app ships it; in the folders for programs that users do not
    /// start; in the system's.
    static func places(besideProgram program: String?) -> [String] {
        var folders: [String] = []
        if let program, let slash = program.lastIndex(of: "/") {
            let folder = String(program[..<slash])
            folders += [folder, folder + "/../libexec/webimage", folder + "/../lib/webimage"]
        }
        folders += ["/usr/local/libexec/webimage", "/usr/libexec/webimage"]
        return folders.map { "\($0)/\(name)" }
    }

    /// The path of this program; `nil` if the system does not tell, as in a root without /proc.
    static var programPath: String? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count - 1)
        guard count > 0 else { return nil }
        return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
