internal import WebImage

extension WebImageError {
    /// `{"code":…,"message":…}`.
    var json: JSON { ["code": .integer(code), "message": .string(description)] }

    /// The description, with what it is about in front where it does not say so itself.
    func description(about subject: String) -> String {
        // Neither says a password that a URL holds.
        let subject = ImageInput.displayName(of: subject)
        return description.contains(subject) ? description : "\(subject): \(description)"
    }
}

extension Duration {
    /// In thousandths of a second, with fractions.
    var milliseconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) * 1e3 + Double(attoseconds) / 1e15
    }
}
