internal import FoundationEssentials
internal import WebImageCore
internal import WebImageLoading

/// Reads what requests for uploads ask for, and answers with what is stored.
struct UploadIntake: Sendable {
    let prefix: String
    let signatures: SignatureCheck
    /// Between an option and its argument.
    let separator: String
    let policy: UploadPolicy
    let urlOptions: String
    let store: UploadStore

    /// A request for an upload that may send its body.
    struct Order {
        var policy: UploadPolicy
        /// That of a form; `nil` for a body that is the file.
        var boundary: String?
    }

    /// Returns `nil` for a place that is invalid, or in a folder or a store that the service does not have.
    init?(_ uploads: ImageService.Uploads, _ configuration: ImageService.Configuration, _ signatures: SignatureCheck) {
        guard let store = UploadStore(uploads.destination, configuration) else { return nil }
        let separator = configuration.argumentSeparator.isEmpty ? ":" : configuration.argumentSeparator
        (prefix, self.signatures, self.separator) = (configuration.pathPrefix, signatures, separator)
        (policy, urlOptions) = (uploads.policy, uploads.urlOptions ?? "raw\(separator)1")
        self.store = store
    }

    /// Refuses what can be refused before the body is read.
    func order(for request: ServiceRequest, now: Date) throws(Refusal) -> Order {
        guard let path = UploadPath(request.target, prefix: prefix) else {
            throw Refusal(404, "There is nothing here.")
        }
        try signatures.check(path.signature, of: path.signed)
        var order = Order(policy: policy)
        for option in path.options { try read(option, &order, now) }
        guard request.header("Content-Encoding").map({ $0.lowercased() == "identity" }) ?? true else {
            throw Refusal(415, "Uploads are not compressed.")
        }
        try readType(request.header("Content-Type").map { MediaType($0) }, &order)
        // A form is longer than its file.
        let limit = order.policy.byteLimit + (order.boundary == nil ? 0 : MultipartForm.longestExcess)
        if let length = request.header("Content-Length").flatMap({ Int($0) }), length > limit {
            throw .tooLongUpload(limit: order.policy.byteLimit)
        }
        return order
    }

    private func read(_ text: Substring, _ order: inout Order, _ now: Date) throws(Refusal) {
        let words = text.split(separator: separator, omittingEmptySubsequences: false)
        let arguments = OptionArguments(words.first.map { String($0) } ?? "", words.dropFirst())
        switch arguments.name {
        case "expires", "exp":
            try arguments.checkCount(1...1)
            guard let time = try arguments.integer(0, in: 1...Int(Int32.max) * 1000) else { throw arguments.invalid(0) }
            if Double(time) <= now.timeIntervalSince1970 { throw .expired }
        case "max_src_file_size", "msfs":
            try arguments.checkCount(1...1)
            guard let limit = try arguments.integer(0, in: 1...1 << 31) else { throw arguments.invalid(0) }
            order.policy.byteLimit = min(order.policy.byteLimit, limit)
        default: throw .invalid("An upload has no option '\(arguments.name)'.")
        }
    }

    private func readType(_ type: MediaType?, _ order: inout Order) throws(Refusal) {
        switch type?.name {
        case nil, "", "application/octet-stream": break
        case "multipart/form-data":
            guard let boundary = type?.parameter("boundary"), (1...70).contains(boundary.utf8.count),
                boundary.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
            else { throw .invalid("The form has no boundary.") }
            order.boundary = boundary
        case let name? where name.hasPrefix("image/"): order.policy.claimedType = name
        case let name?: throw Refusal(415, "An upload is an image or a form, not '\(name)'.")
        }
    }

    // MARK: Answering

    private struct Output: Encodable {
        var url, source, mimeType: String
        var width, height: Int?
        var byteCount, frameCount: Int
        var blurHash, thumbHash, perceptualHash: String
    }

    /// Stores the file of an upload.
    func answer(storing upload: Upload) async throws(Refusal) -> ServiceAnswer {
        guard let file = upload.files.first?.value else { throw Refusal(500, "The upload has no file.") }
        let source = try await store.store(file.data, file.fileExtension)
        let url = url(of: source)
        let output = Output(
            url: url, source: source, mimeType: file.contentType, width: file.size?.width, height: file.size?.height,
            byteCount: file.data.count, frameCount: upload.frameCount, blurHash: upload.blurHash,
            thumbHash: upload.thumbHash, perceptualHash: upload.perceptualHash)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let body = ((try? encoder.encode(output)) ?? Data()) + Data("\n".utf8)
        var fields: [HTTPHeader] = []
        fields.add("Content-Type", "application/json")
        fields.add("Content-Length", "\(body.count)")
        fields.add("Location", url)
        fields.add("Cache-Control", "no-store")
        fields.add("X-Content-Type-Options", "nosniff")
        return ServiceAnswer(status: 201, headers: fields, body: body)
    }

    /// The path of a source's image, signed by the first key.
    func url(of source: String) -> String {
        let path = "/" + (urlOptions.isEmpty ? "" : urlOptions + "/") + "plain/" + source
        let signature = signatures.keys.first?.signature(of: path, byteCount: signatures.byteCount) ?? "unsafe"
        return prefix + "/" + signature + path
    }

    /// A source as that of an upload.
    var sampleSource: String { store.sourcePrefix + UploadStore.name(of: Data(), "jpg") }
}

extension Refusal {
    static func tooLongUpload(limit: Int) -> Refusal { Refusal(413, "The upload is longer than \(limit) bytes.") }

    /// The refusal of an upload.
    init(_ rejection: UploadRejection) {
        switch rejection {
        case .tooLong(let limit): self = .tooLongUpload(limit: limit)
        case .notAccepted(let format?): self.init(415, "Uploads in the format \(format.name) are not accepted.")
        case .notAccepted(nil): self.init(415, "The upload is not an image.")
        case .otherType(_, let actual): self.init(415, "The upload is \(actual), and not of the type that is stated.")
        case .trailingBytes(let count): self.init(422, "There are \(count) bytes behind the image of the upload.")
        case .refused(let status, let reason):
            self.init(status, reason, retryAfter: status == 429 || status == 503 ? 1 : nil)
        case .interrupted: self = .abandoned
        }
    }
}
