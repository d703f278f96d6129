package import WebImageCore

extension WebImageError {
    /// The error of a drawing that failed.
    package static func drawing(_ reason: ProcessingFailure) -> WebImageError {
        .processing(identifier: "drawing", reason: reason)
    }
}
