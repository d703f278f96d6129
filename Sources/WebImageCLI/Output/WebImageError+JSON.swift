internal import WebImage

extension WebImageError {
    /// `{"code":…,"message":…}`.
    var json: JSON { ["code": .integer(code), "message": .string(description)] }

    /// The description, preceded by the subject unless it contains it.
    func description(about subject: String) -> String {
        // Neither contains the password of a URL.
        let subject = ImageInput.displayName(of: subject)
        return description.contains(subject) ? description : "\(subject): \(description)"
    }
}

extension Duration {
    /// The duration in milliseconds, with fractions.
    var milliseconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) * 1e3 + Double(attoseconds) / 1e15
    }
}
