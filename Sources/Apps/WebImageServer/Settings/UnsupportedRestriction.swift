/// Variables of imgproxy that restrict what clients can do, and that have no meaning here. The server does not start with one: it would allow more
/// than its settings say.
enum UnsupportedRestriction {
    private static let buckets = "set IMGPROXY_ALLOWED_SOURCES to the buckets that are allowed, such as s3://photos/"

    /// The settings to use instead, by the names of the variables.
    private static let advice: [String: (kind: Kind, text: String)] = [
        "IMGPROXY_ALLOWED_PROCESSING_OPTIONS":
            (.list, "put the options into IMGPROXY_PRESETS, and set IMGPROXY_ONLY_PRESETS=true"),
        "IMGPROXY_INFO_ONLY_PRESETS": (.flag, "set IMGPROXY_ONLY_PRESETS=true, with which /info has no options"),
        "IMGPROXY_MAX_ANIMATION_FRAME_RESOLUTION":
            (.number, "set IMGPROXY_MAX_SRC_RESOLUTION, which is for each frame"),
        "IMGPROXY_S3_ALLOWED_BUCKETS": (.list, buckets), "IMGPROXY_S3_DENIED_BUCKETS": (.list, buckets),
    ]

    private enum Kind {
        case flag, number, list

        func restricts(_ value: String) -> Bool {
            switch self {
            case .flag: (try? SettingValue.flag(value)) != false
            case .number: Double(value) != 0 && !value.isEmpty
            case .list: !value.isEmpty
            }
        }
    }

    /// - Throws: what to use instead, if a variable restricts something.
    static func check(_ name: String, _ value: String) throws(StartFailure) {
        guard let advice = advice[name], advice.kind.restricts(value) else { return }
        throw StartFailure(description: "\(name) is not supported: \(advice.text), and remove it")
    }
}
