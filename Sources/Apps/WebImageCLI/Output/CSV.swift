/// Comma-separated values (RFC 4180).
enum CSV {
    /// Returns a line without the line break at the end. Values with commas, quotation marks or line breaks, or spaces
    /// at an end, are quoted.
    static func line(_ values: [String]) -> String { values.map(field).joined(separator: ",") }

    private static func field(_ value: String) -> String {
        let needsQuotes =
            value.unicodeScalars.contains { ",\"\r\n".unicodeScalars.contains($0) } || value.hasPrefix(" ")
            || value.hasSuffix(" ")
        return needsQuotes ? "\"" + value.replacing("\"", with: "\"\"") + "\"" : value
    }
}
