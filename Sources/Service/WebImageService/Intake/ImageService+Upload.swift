public import FoundationEssentials
internal import WebImageCoding
internal import WebImageCore
internal import WebImageProcessing

extension ImageService {
    /// Takes an upload from a client that is not trusted: checks what it is, and makes files of it. All or nothing is made.
    ///
    /// ```swift
    /// let policy = UploadPolicy(results: ["image": "rs:fit:2048:2048/f:jpg", "small": "w:320/f:webp"])
    /// let upload = try await service.take(pieces, policy)
    /// print(upload.size, upload.blurHash, upload.files["small"]?.data.count ?? 0)
    /// ```
    ///
    /// The upload is read no further than needed to refuse it. It is never written to disk, and counts against the service's limits as results
    /// do: its length against ``ImageService/Limits/sourceByteCount``, the time for its bytes against
    /// ``ImageService/Limits/transferTime``, and that for its place and its files against ``ImageService/Limits/time``. At a time, as many
    /// arrive as can be made and wait, and the bytes of all uploads have ``ImageService/Limits/uploadByteCount`` together until their files
    /// are made; more are refused with 429. At the end of the time, the task that reads `pieces` is cancelled, and the call returns.
    ///
    /// - Parameters:
    ///   - pieces: the bytes as they arrive.
    ///   - policy: what is accepted, and the files to make.
    /// - Throws: ``UploadRejection``.
    public func take<Pieces: AsyncSequence<Data, any Error>>(
        _ pieces: sending Pieces, _ policy: UploadPolicy = UploadPolicy()
    ) async throws(UploadRejection) -> Upload {
        try await take(pieces, policy) { policy.claimedType }
    }

    /// - Parameter claim: returns the type that the client has stated, which may arrive with the first bytes.
    func take<Pieces: AsyncSequence<Data, any Error>>(
        _ pieces: sending Pieces, _ policy: UploadPolicy, claim: @escaping @Sendable () -> String?
    ) async throws(UploadRejection) -> Upload {
        do throws(Refusal) { try work.beginRequest() } catch { throw UploadRejection(error) }
        defer { work.end() }
        let recipes = try recipes(of: policy)
        var policy = policy
        let limits = configuration.limits
        policy.byteLimit = min(policy.byteLimit, limits.sourceByteCount, limits.uploadByteCount)
        let arrived = try await withinTime(limits.transferTime, else: .slowUpload) {
            [policy] () throws(UploadRejection) -> ArrivedBytes in
            try await self.inPlace(of: self.uploads) { () throws(UploadRejection) -> ArrivedBytes in
                try await self.read(pieces, policy, claim)
            }
        }
        return try await withinTime(limits.time, else: .timedOut) {
            [policy, maker] () throws(UploadRejection) -> Upload in
            // Also when the time is over, the bytes count until the work has ended.
            defer { withExtendedLifetime(arrived) {} }
            return try await self.inPlace(of: self.places) { () throws(UploadRejection) -> Upload in
                let result = await DecodingQueue.run(priority: .normal) { cancellation in
                    Result { () throws(UploadRejection) in
                        try UploadWork(maker: maker, data: arrived.data, cancellation: cancellation)
                            .upload(recipes, policy)
                    }
                }
                guard let result else { throw .interrupted }
                return try result.get()
            }
        }
    }

    private func inPlace<Value: Sendable>(
        of places: WorkPlaces, _ body: () async throws(UploadRejection) -> Value
    ) async throws(UploadRejection) -> Value {
        let result: Result<Value, UploadRejection>?
        do throws(Refusal) {
            try work.beginWork()
            defer { work.end() }
            result = try await places.run { await Self.result(body) }
        } catch {
            throw UploadRejection(error)
        }
        guard let result else { throw .interrupted }
        return try result.get()
    }

    /// Runs `body` in a task that is cancelled after a time, and then fails with a refusal, even if the task does not end.
    private func withinTime<Value: Sendable>(
        _ time: Duration, else refusal: Refusal, _ body: sending @escaping () async throws(UploadRejection) -> Value
    ) async throws(UploadRejection) -> Value {
        let (clock, waiter) = (SystemTimerClock.shared, Waiter<Result<Value, UploadRejection>>())
        let end = clock.now + time
        let task = Task {
            let result = await Self.result(body)
            waiter.resume(clock.now < end ? result : .failure(UploadRejection(refusal)))
        }
        let timer = clock.schedule(at: end) {
            waiter.resume(.failure(UploadRejection(refusal)))
            task.cancel()
        }
        defer { timer.cancel() }
        return try await withTaskCancellationHandler {
            await waiter.value
        } onCancel: {
            waiter.resume(.failure(.interrupted))
            task.cancel()
        }.get()
    }

    private static func result<Value>(
        _ body: () async throws(UploadRejection) -> Value
    ) async -> Result<Value, UploadRejection> {
        do throws(UploadRejection) { return .success(try await body()) } catch { return .failure(error) }
    }

    func recipes(of policy: UploadPolicy) throws(UploadRejection) -> [String: Recipe] {
        var recipes: [String: Recipe] = [:]
        for (name, options) in policy.results {
            do throws(Refusal) {
                var reader = OptionReader(presets: presets, configuration)
                for option in options.split(separator: "/") { try reader.read(option) }
                recipes[name] = reader.recipe
            } catch {
                throw UploadRejection(error)
            }
        }
        return recipes
    }

    /// Reads all pieces, unless the first bytes show that the rest is of no use.
    private func read<Pieces: AsyncSequence<Data, any Error>>(
        _ pieces: Pieces, _ policy: UploadPolicy, _ claim: @Sendable () -> String?
    ) async throws(UploadRejection) -> ArrivedBytes {
        var (arrived, isChecked) = (ArrivedBytes(uploadBytes), false)
        do {
            for try await piece in pieces {
                guard arrived.data.count + piece.count <= policy.byteLimit else {
                    throw UploadRejection.tooLong(limit: policy.byteLimit)
                }
                try arrived.append(piece)
                if !isChecked, arrived.data.count >= 4096 {
                    try policy.check(arrived.data, claim())
                    isChecked = true
                }
            }
        } catch let rejection as UploadRejection {
            throw rejection
        } catch {
            throw .interrupted
        }
        // A stream whose task is cancelled ends like a complete one.
        if Task.isCancelled { throw .interrupted }
        try policy.check(arrived.data, claim())
        return arrived
    }
}

extension UploadPolicy {
    /// Checks the format that the bytes begin with.
    fileprivate func check(_ data: Data, _ claimedType: String?) throws(UploadRejection) {
        guard let format = ImageFormat(signatureOf: data), formats.contains(format) else {
            throw .notAccepted(format: ImageFormat(signatureOf: data))
        }
        guard let claimedType else { return }
        let claim = claimedType.prefix { $0 != ";" }.filter { $0 != " " }.lowercased()
        guard claim == format.mimeType || claim == "image/jpg" && format == .jpeg else {
            throw .otherType(claimed: claim, actual: format.mimeType)
        }
    }
}

extension UploadRejection {
    init(_ refusal: Refusal) {
        self = refusal == .abandoned ? .interrupted : .refused(status: refusal.status, reason: refusal.text)
    }
}

/// The work on the bytes of an upload, on a decoding thread.
private struct UploadWork {
    let maker: ResultMaker
    let data: Data
    let cancellation: Cancellation

    /// Formats of the web that an upload keeps. So do JPEG and PNG without this, but a JPEG that becomes transparent gets PNG.
    private static let keptFormats: Set<ImageFormat> = [.webp, .avif, .gif]

    func upload(_ recipes: [String: Recipe], _ policy: UploadPolicy) throws(UploadRejection) -> Upload {
        if !policy.allowsTrailingBytes, let format = ImageFormat(signatureOf: data) {
            let count = TrailingBytes.count(in: data, format)
            guard count == 0 else { throw .trailingBytes(count: count) }
        }
        do throws(WebImageError) {
            let (info, fields, image) = try description()
            var files: [String: Upload.File] = [:]
            for (name, recipe) in recipes {
                let kept = recipe.output == nil && Self.keptFormats.contains(info.format) ? [info.format] : []
                let file = try maker.file(recipe, kept, data, info, cancellation)
                guard file.data.count <= maker.limits.resultByteCount else {
                    throw .encoding(
                        format: info.format,
                        reason: .tooLong(byteCount: file.data.count, limit: maker.limits.resultByteCount))
                }
                files[name] = Upload.File(
                    data: file.data, contentType: file.contentType, fileExtension: file.fileExtension,
                    size: (try? maker.codecs.info(
                        of: file.data, limits: maker.limits.decoding, cancellation: cancellation))?.size)
            }
            return Upload(
                format: info.format, size: info.size, frameCount: info.frameCount, dateTaken: fields?.date?.description,
                hasLocation: fields?.hasLocation ?? false,
                blurHash: try BlurHash(of: image, cancellation: cancellation).string,
                thumbHash: try ThumbHash(of: image, cancellation: cancellation).base64,
                perceptualHash: try PerceptualHash(of: image, cancellation: cancellation).description, files: files)
        } catch {
            throw UploadRejection(Refusal(error))
        }
    }

    private func description() throws(WebImageError) -> (ImageInfo, EXIFFields?, Image) {
        let info = try maker.info(of: data, cancellation)
        // Decoding all of it shows damage, wherever it is.
        let options = DecodingOptions(
            thumbnail: Thumbnail(.pixels(width: 256, height: 256)), firstFrameOnly: true, allowsDamage: false,
            limits: maker.limits.decoding, cancellation: cancellation)
        let image = try maker.codecs.decode(data, options: options)
        let metadata = try maker.codecs.metadata(
            of: data, limits: maker.limits.decoding, cancellation: cancellation)
        return (info, metadata.exifFields, image)
    }
}
