internal import WebImageCore

/// Why a request gets no image: a status and a sentence for its sender.
struct Refusal: Error, Sendable, Equatable {
    let status: Int
    let text: String
    /// In seconds, for a client that should send the request again; `nil` if that is of no use.
    var retryAfter: Int?
    /// The error behind it, for the log. Clients do not get it: it says what the service can reach.
    var detail: String?

    init(_ status: Int, _ text: String, retryAfter: Int? = nil) {
        (self.status, self.text, self.retryAfter) = (status, text, retryAfter)
    }

    /// The target is not understood.
    static func invalid(_ text: String) -> Refusal { Refusal(400, text) }

    static let forbiddenSignature = Refusal(403, "The signature is not valid for this path.")
    static let forbiddenSource = Refusal(403, "The source is not allowed.")
    static let expired = Refusal(404, "The URL has expired.")
    static let timedOut = Refusal(504, "The image was not ready in time.")
    static let slowUpload = Refusal(408, "The upload took too long.")
    static let overloaded = Refusal(429, "Too many images are being made.", retryAfter: 1)
    static let stopping = Refusal(503, "The service is stopping.", retryAfter: 1)
    static let busy = Refusal(503, "Clients are reading too much at once.", retryAfter: 1)
    /// The client has left, and does not read this.
    static let abandoned = Refusal(499, "The client has left.")
}

extension Refusal {
    /// The status for an error of the library. `Documentation/Guides.docc/ImageService.md` has the table.
    init(_ error: WebImageError) {
        self.init(named: error)
        if self != .abandoned { detail = error.description }
    }

    private init(named error: WebImageError) {
        switch error {
        case .cancelled: self = .abandoned
        case .invalidURL, .invalidRequest: self = .invalid("The source is not a URL that can be loaded.")
        case .blocked(.failedBefore, _), .blocked(.hook, _):
            self.init(502, "The source has failed before.", retryAfter: 60)
        case .blocked: self = .forbiddenSource
        case .httpStatus(404, _), .httpStatus(410, _), .file: self.init(404, "The source does not exist.")
        case .httpStatus(let status, _): self.init(502, "The source's server answered with status \(status).")
        case .timedOut: self.init(504, "The source's server did not answer in time.")
        case .invalidResponse(.bodyTooLong, _): self.init(413, "The source is longer than allowed.")
        case .transport, .certificate, .invalidResponse: self.init(502, "The source's server cannot be reached.")
        case .unrecognizedFormat: self.init(415, "The source is not a supported image.")
        case .decoding(_, .unsupported, _), .decoding(_, .noDecoder, _):
            self.init(415, "The source is not a supported image.")
        case .decoding: self.init(422, "The source is damaged.")
        case .isolation(_, .startTimedOut, _): self.init(503, "The service has too much work.", retryAfter: 1)
        case .isolation(_, .unavailable, _), .isolation(_, .missingLayers, _):
            self.init(500, "The service cannot decode images.")
        // The kernel ends a process when memory is short; the image may be good.
        case .isolation(_, .crashed(signal: 9), _):
            self.init(503, "The service is short of memory.", retryAfter: 2)
        case .isolation: self.init(422, "The source cannot be decoded safely.")
        case .limitExceeded(.processorTime, _): self.init(422, "The source takes too long to decode.")
        case .limitExceeded: self.init(413, "The source exceeds a limit.")
        case .processing: self.init(422, "The options do not fit the source.")
        case .encoding(_, .tooLarge), .encoding(_, .tooLong):
            self.init(422, "The result does not fit the format or its limit.")
        case .outOfResources: self.init(503, "The service is short of memory or threads.", retryAfter: 2)
        case .encoding, .invalidFrames, .notInCache, .diskCache, .custom: self.init(500, "The image cannot be made.")
        }
    }
}
