public import FoundationEssentials
internal import WebImageCore

extension ImageService {
    /// Whether a request is for ``answer(toUpload:body:)``: `POST /upload`, behind the prefix of paths, if ``Configuration/uploads`` is set.
    public func isUpload(_ request: ServiceRequest) -> Bool {
        guard let intake, request.method == "POST" else { return false }
        return UploadPath(request.target, prefix: intake.prefix) != nil
    }

    /// Returns the answer to an upload that is refused whatever its body is, such as for its signature or its length; `nil` for others. A server
    /// that asks first need not read such a body.
    public func refusal(ofUpload request: ServiceRequest) -> ServiceAnswer? {
        do throws(Refusal) {
            _ = try uploadOrder(for: request)
            return nil
        } catch {
            return refused(error, request)
        }
    }

    /// Takes an upload, stores it, and answers with its URL: 201, with `Location`, and JSON. Other answers have one line that says why.
    ///
    /// ```swift
    /// func respond(to request: ServiceRequest, _ body: AsyncThrowingStream<Data, any Error>) async -> ServiceAnswer {
    ///     service.isUpload(request) ? await service.answer(toUpload: request, body: body) : await service.answer(to: request)
    /// }
    /// ```
    ///
    /// The body is the file, or a form (`multipart/form-data`) with one file. With ``Configuration/keys``, the path is `/upload/SIGNATURE`, whose signature
    /// is of `/upload`, and may have options, which are signed with it: `/upload/SIGNATURE/expires:TIME/max_src_file_size:BYTES`. Cancelling the task gives
    /// the upload up. See ``take(_:_:)`` for its limits.
    ///
    /// - Parameters:
    ///   - request: a request of which ``isUpload(_:)`` is true.
    ///   - body: the bytes as they arrive.
    public func answer<Pieces: AsyncSequence<Data, any Error>>(
        toUpload request: ServiceRequest, body: sending Pieces
    ) async -> ServiceAnswer {
        do throws(Refusal) {
            guard let intake else { throw Self.noUploads }
            let order = try uploadOrder(for: request)
            let upload = try await taken(order, body)
            let answer = try await intake.answer(storing: upload)
            noteUpload()
            return answer
        } catch {
            return refused(error, request)
        }
    }

    private static let noUploads = Refusal(404, "The service takes no uploads.")

    private func uploadOrder(for request: ServiceRequest) throws(Refusal) -> UploadIntake.Order {
        guard let intake else { throw Self.noUploads }
        return try intake.order(for: request, now: configuration.now())
    }

    private func taken<Pieces: AsyncSequence<Data, any Error>>(
        _ order: UploadIntake.Order, _ body: sending Pieces
    ) async throws(Refusal) -> Upload {
        do throws(UploadRejection) {
            guard let boundary = order.boundary else { return try await take(body, order.policy) }
            let claim = LockBox<String?>(nil)
            let file = MultipartFile(body: body, boundary: boundary, claim: claim)
            return try await take(file, order.policy) {
                // Programs that do not know the type of a file state this one.
                claim.withLock { $0 }.flatMap { MediaType($0).name == "application/octet-stream" ? nil : $0 }
            }
        } catch {
            throw Refusal(error)
        }
    }

    /// Returns what takes uploads; `nil` if the service takes none.
    ///
    /// - Throws: ``WebImage/WebImageError/custom(id:message:)`` with the id `service-uploads` if it could not store them, or not serve them.
    static func intake(
        _ configuration: Configuration, _ reader: OrderReader, _ presets: Presets
    ) throws(WebImageError) -> UploadIntake? {
        guard let uploads = configuration.uploads else { return nil }
        func invalid(_ text: String) -> WebImageError { .custom(id: "service-uploads", message: text) }
        guard let intake = UploadIntake(uploads, configuration, reader.signatures) else {
            throw invalid(
                "uploads are stored in local:///FOLDER or s3://BUCKET/PREFIX, in the folder or the store of sources, not in '\(uploads.destination)'"
            )
        }
        guard uploads.policy.results.count == 1, let options = uploads.policy.results.first?.value else {
            throw invalid("one result of an upload is stored, not \(uploads.policy.results.count)")
        }
        do throws(Refusal) {
            var own = OptionReader(presets: presets, configuration)
            for option in options.split(separator: "/") { try own.read(option) }
        } catch {
            throw invalid("the options of uploads: \(error.text)")
        }
        do throws(Refusal) {
            // What is answered must be served.
            let request = ServiceRequest(target: intake.url(of: intake.sampleSource))
            let order = try reader.order(for: request, now: configuration.now())
            guard order.key.source.text == intake.sampleSource else {
                throw Refusal(403, "Sources have another beginning.")
            }
        } catch {
            throw invalid("the URLs of uploads would not be served: \(error.text)")
        }
        return intake
    }
}
