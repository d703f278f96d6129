internal import FoundationEssentials

/// A locale for programs that say texts in a language.
public enum TestLocale {
    /// Makes the locale of each system under another name, because gettext looks for no translations in that of C.
    ///
    /// - Parameters:
    ///   - folder: where it is made, unless it is there.
    ///   - language: such as `de`.
    /// - Returns: the environment in which programs use it.
    public static func environment(in folder: String, language: String) throws -> [String: String] {
        let locale = folder + "/de_DE.UTF-8"
        if !FileManager.default.fileExists(atPath: locale) {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(
                atPath: locale, withDestinationPath: "/usr/lib/locale/C.utf8")
        }
        return ["LOCPATH": folder, "LC_ALL": "de_DE.UTF-8", "LANGUAGE": language]
    }
}
