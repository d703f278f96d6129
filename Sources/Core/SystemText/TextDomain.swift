internal import CWebImageSystem
internal import Glibc

/// The translations of a program or a library, by gettext of the C library.
///
/// The language is that of the program's locale: `LANGUAGE`, `LC_MESSAGES` or `LANG` after `setlocale`, which GTK calls. Names in braces
/// stand for values, which a translation may have in another order. `Scripts/translations` collects the texts of calls of
/// ``localized(_:_:)`` and ``counted(_:_:count:_:)``.
///
/// ```swift
/// let texts = TextDomain("webimage")
/// print(texts.localized("The folder is {folder}.", ["folder": path]))
/// print(texts.counted("{count} image in {folder}", "{count} images in {folder}", count: 3, ["folder": path]))
/// ```
public struct TextDomain: Sendable {
    private let name: String

    /// Creates the domain of a program, whose files are beside it: `<prefix>/share/locale` for `<prefix>/bin/<program>`, or else in the
    /// C library's folder. Also takes the language of messages from the environment, as `setlocale` does, but not the form of numbers. Call
    /// it before there are other threads.
    ///
    /// - Parameter name: the name of the files.
    public init(program name: String) {
        cwi_use_language_of_environment()
        let folder = cwi_folder_beside_program("../share/locale")
        defer { free(folder) }
        self.init(name, folder: folder.map { String(cString: $0) })
    }

    /// Creates the domain of the files `<folder>/<language>/LC_MESSAGES/<name>.mo`.
    ///
    /// - Parameters:
    ///   - name: the name of the files.
    ///   - folder: an absolute path; `nil`, the default, for the C library's folder, such as `/usr/share/locale`.
    public init(_ name: String, folder: String? = nil) {
        self.name = name
        if let folder { cwi_bind_translations(name, folder) } else { cwi_bind_translations(name, nil) }
    }

    /// Returns a text in the user's language, or in English where there is no translation.
    public func string(for text: LocalizableText) -> String { text.string(in: self) }

    /// Returns a text in the user's language, or as it is where there is no translation.
    ///
    /// - Parameters:
    ///   - text: a literal in English; not empty.
    ///   - values: what takes the places of names in braces. A value may have braces of its own.
    public func localized(_ text: String, _ values: [String: String] = [:]) -> String {
        Self.filled(template(text), values)
    }

    /// Returns a text that says a count, in the user's language and the form of that count: languages have one to six forms.
    ///
    /// - Parameters:
    ///   - one: a literal in English for a count of 1; not empty.
    ///   - other: a literal in English for other counts.
    ///   - count: at least 0; what takes the place of `{count}`, in digits.
    ///   - values: what takes the places of other names in braces, and of `{count}` where its digits are to be grouped.
    public func counted(_ one: String, _ other: String, count: Int, _ values: [String: String] = [:]) -> String {
        let values = values.merging(["count": "\(count)"]) { own, _ in own }
        return Self.filled(template(one, other, count), values)
    }

    func template(_ text: String) -> String {
        // Without a translation, gettext returns the text itself, which is valid in this call only.
        text.withCString { original in
            guard let translation = cwi_translation(name, original), translation != original else { return text }
            return String(cString: translation)
        }
    }

    func template(_ one: String, _ other: String, _ count: Int) -> String {
        one.withCString { first in
            other.withCString { second in
                let translation = cwi_plural_translation(name, first, second, UInt(count.magnitude))
                guard let translation, translation != first, translation != second else {
                    return count == 1 ? one : other
                }
                return String(cString: translation)
            }
        }
    }

    /// The C library's message for an error number.
    static func systemMessage(_ number: Int32, isTranslated: Bool) -> String {
        guard let message = cwi_error_description(number) else { return "system error \(number)" }
        return String(cString: isTranslated ? cwi_translation("libc", message) ?? message : message)
    }

    static func filled(_ template: String, _ values: [String: String]) -> String {
        guard !values.isEmpty else { return template }
        var (result, rest) = ("", template[...])
        while let end = rest.firstIndex(of: "}") {
            // Of several braces that open, the last one: '{{1}}' has a value in braces.
            guard let start = rest[..<end].lastIndex(of: "{") else {
                result += rest[...end]
                rest = rest[rest.index(after: end)...]
                continue
            }
            let name = rest[rest.index(after: start)..<end]
            result += rest[..<start]
            result += values[String(name)] ?? String(rest[start...end])
            rest = rest[rest.index(after: end)...]
        }
        return result + rest
    }
}
