internal import FoundationEssentials

/// Reads settings from a file, the environment and the command line. What comes later takes precedence.
struct SettingsReader {
    var settings = ServerSettings()
    /// Messages about settings that are not used, for standard error.
    private(set) var warnings: [String] = []

    /// - Parameter options: those of the command line, by name.
    mutating func read(options: [(name: String, value: String)], environment: [String: String]) throws(StartFailure) {
        let path = options.last { $0.name == "config" }?.value ?? environment["WEBIMAGE_CONFIG"]
        if let path { try readFile(path) }
        for name in environment.keys.sorted() {
            guard let value = environment[name] else { continue }
            if let setting = Setting.all.first(where: { $0.variable == name }) {
                try apply(setting, value, named: name)
            } else if Self.isSetting(name) {
                try note(unknown: name, value)
            }
        }
        for option in options where option.name != "config" {
            guard let setting = Setting.all.first(where: { $0.name == option.name }) else { continue }
            try apply(setting, option.value, named: "--" + option.name)
        }
    }

    /// Reads a file with a variable in each line, as systemd's `EnvironmentFile`.
    private mutating func readFile(_ path: String) throws(StartFailure) {
        guard let data = try? Data(contentsOf: URL(filePath: path)) else {
            throw StartFailure(description: "cannot read \(path)")
        }
        let lines = String(decoding: data, as: UTF8.self).split(
            omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        for (index, line) in lines.enumerated() {
            let text = line.trimmingPrefix { $0 == " " || $0 == "\t" }
            guard !text.isEmpty, text.first != "#" else { continue }
            let place = "\(path):\(index + 1)"
            guard let sign = text.firstIndex(of: "=") else { throw StartFailure(description: "\(place): no '='") }
            let name = String(text[..<sign])
            var value = text[text.index(after: sign)...]
            if value.count >= 2, let quote = value.first, quote == "\"" || quote == "'", value.last == quote {
                value = value.dropFirst().dropLast()
            }
            guard let setting = Setting.all.first(where: { $0.variable == name }) else {
                try note(unknown: name, String(value), place: place + ": ")
                continue
            }
            try apply(setting, String(value), named: "\(place): \(name)")
        }
    }

    /// Variables that another program reads.
    private static let others = ["WEBIMAGE_CONFIG", "WEBIMAGE_SHARED_SECRET", "WEBIMAGE_DECODER"]

    /// Whether a variable of the environment looks like one of this server.
    private static func isSetting(_ name: String) -> Bool {
        name.hasPrefix("IMGPROXY_") || name.hasPrefix("WEBIMAGE_") && !others.contains(name)
    }

    /// The same for a file and for the environment: what would restrict clients ends the start, other variables are reported.
    private mutating func note(unknown name: String, _ value: String, place: String = "") throws(StartFailure) {
        try UnsupportedRestriction.check(name, value)
        warnings.append(place + UnsupportedVariable.warning(name))
    }

    private mutating func apply(_ setting: Setting, _ value: String, named name: String) throws(StartFailure) {
        do throws(Setting.Invalid) {
            try setting.apply(&settings, value)
        } catch {
            throw StartFailure(description: "\(name) \(error)")
        }
    }
}
