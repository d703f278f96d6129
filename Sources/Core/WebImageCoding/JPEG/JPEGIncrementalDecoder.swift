internal import FoundationEssentials
internal import Glibc
internal import WebImageCore

/// Decodes a JPEG while its bytes arrive: rows of a baseline file, scans of a progressive one.
///
/// Of a progressive file it keeps the coefficients and the bytes not yet decoded. Of others it keeps the pixels and all
/// bytes, because some damage is only certain once the file is complete: see ``JPEGReader/isDamageUncertain``.
final class JPEGIncrementalDecoder: IncrementalImageDecoder {
    private let options: DecodingOptions
    /// `nil` before the first bytes, and after the end.
    private var reader: JPEGReader?
    /// Set once all markers before the first scan have arrived.
    private var plan: DecodingPlan?
    /// The memory for the pixels; decoding starts once there is some.
    private var share: DecodingShare?
    private var isStarted = false
    /// Whether decoding started before the end of the file.
    private var hasPreviews = false
    /// The file's bytes until there is a plan; then, unless all are kept, those not yet decoded.
    private var bytes: [UInt8] = []
    /// How many of ``bytes`` libjpeg has decoded.
    private var readCount = 0

    /// Whether the whole file was decoded again at the end; see ``JPEGReader/isDamageUncertain``.
    private(set) var hasDecodedAgain = false
    /// Whether ``bytes`` is kept for the end, because the file is lossless.
    private var isLossless = false
    /// The offset of the first scan.
    private var scanStart = 0
    private(set) var probe: ImageProbe?
    var animation: (any AnimationSource)? { nil }

    init(options: DecodingOptions) { self.options = options }

    func append(_ bytes: Data) throws(WebImageError) {
        if plan == nil, try appendLossless(bytes) { return }
        let needsBytes = reader?.needsBytes != false || isDamageUncertain
        // Bytes after damage are kept too: if the whole file is decoded again, their number decides which of libjpeg's
        // loops runs.
        guard needsBytes || reader?.mayBeUncertain == true else { return }
        self.bytes.append(contentsOf: bytes)
        if needsBytes { try advance(isEnd: false) }
    }

    /// Keeps the bytes of a lossless file, and returns whether it is one.
    private func appendLossless(_ bytes: Data) throws(WebImageError) -> Bool {
        if !isLossless {
            // libjpeg would end at the frame header.
            let start = self.bytes + bytes
            guard JPEGHeader.isLossless(start.span.bytes) else { return false }
            isLossless = true
            reader = nil
        }
        try options.checkCancellation()
        self.bytes.append(contentsOf: bytes)
        if probe == nil {
            do throws(WebImageError) {
                let header = try JPEGHeader(reading: self.bytes.span.bytes)
                if header.reachesScan {
                    try options.limits.check(header.size)
                    probe = ImageProbe(header)
                }
            } catch .decoding(_, .truncated, _) {
                // The rest follows.
            }
            if probe == nil { try options.limits.check(metadataByteCount: self.bytes.count) }
        }
        return true
    }

    func preview() throws(WebImageError) -> Image? {
        try options.checkCancellation()
        guard hasPreviews, let reader, let plan,
            let pixels = try reader.preview(cancellation: options.cancellation)
        else { return nil }
        var image = try plan.image(of: pixels, format: .jpeg)
        image.isPartial = true
        return image
    }

    func finish() throws(WebImageError) -> Image {
        // After an error too.
        defer { share = nil }
        if isLossless { return try JPEGDecoder().decode(Data(bytes), options: options) }
        try advance(isEnd: true)
        if isDamageUncertain || reader?.mayBeUncertain == true && hasFillBytes {
            reader = nil
            // The decoder requests its own.
            share = nil
            hasDecodedAgain = true
            return try JPEGDecoder().decode(Data(bytes), options: options)
        }
        guard let reader, let plan else { throw .decoding(format: .jpeg, reason: .truncated) }
        defer { self.reader = nil }
        return try plan.image(of: reader)
    }

    private var isDamageUncertain: Bool { reader?.isDamageUncertain == true }

    /// Whether a scan contains two consecutive 0xFF bytes, which no encoder writes. libjpeg's fast loop takes them for
    /// a marker and repeats its step in the slow loop, which skips them, but with slightly different pixels.
    private var hasFillBytes: Bool {
        bytes.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return false }
            var offset = scanStart
            while offset < bytes.count - 1, let found = memchr(start + offset, 0xFF, bytes.count - 1 - offset) {
                offset = UnsafeRawPointer(found) - start + 1
                if bytes[offset] == 0xFF { return true }
            }
            return false
        }
    }

    private func advance(isEnd: Bool) throws(WebImageError) {
        try options.checkCancellation()
        if reader == nil { reader = try JPEGReader() }
        guard let reader else { return }
        // Moved out of `self` so that it is not copied. After an error there is no further call.
        var arrived = bytes
        bytes = []
        readCount += try arrived.span.bytes.withUnsafeBytes { (bytes) throws(WebImageError) in
            let unread = UnsafeRawBufferPointer(rebasing: bytes[readCount...])
            return try reader.reading(unread, isEnd: isEnd) { () throws(WebImageError) in
                if plan == nil {
                    guard try reader.readHeader() else { return }
                    plan = try plan(of: bytes)
                }
                if let plan, !isStarted { isStarted = try start(reader, plan, isEnd: isEnd) }
                guard isStarted else { return }
                try reader.decode(options: options)
                if let damage = reader.damage, !isDamageUncertain, !options.allowsDamage { throw damage }
            }
        }
        if plan == nil { try options.limits.check(metadataByteCount: readCount) }
        if plan != nil, !reader.mayBeUncertain {
            arrived.removeFirst(readCount)
            readCount = 0
        }
        bytes = consume arrived
    }

    /// Called once all markers have arrived.
    private func plan(of bytes: UnsafeRawBufferPointer) throws(WebImageError) -> DecodingPlan {
        let data = RawSpan(_unsafeBytes: bytes)
        let header = try JPEGHeader(reading: data)
        scanStart = header.byteCount
        probe = ImageProbe(header)
        return try DecodingPlan(header, of: data, options: options)
    }

    /// Starts decoding if there is memory for previews. At the end it waits for memory, since it soon releases it.
    private func start(_ reader: JPEGReader, _ plan: DecodingPlan, isEnd: Bool) throws(WebImageError) -> Bool {
        let route = try plan.route(for: reader)
        if isEnd {
            share = try options.budget.share(route.byteCount, cancellation: options.cancellation)
            try plan.start(reader, route)
            return true
        }
        guard reader.isSuspendable else { return false }
        share = options.previewShare(plan.byteCountWithPreviews(of: reader), hasCopy: reader.hasMultipleScans)
        guard share != nil else { return false }
        try plan.start(reader, DecodingRoute())
        hasPreviews = true
        return true
    }
}
