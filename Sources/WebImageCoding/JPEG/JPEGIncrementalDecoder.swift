internal import FoundationEssentials
internal import Glibc
internal import WebImageCore

/// Decodes a JPEG while its bytes arrive: rows of a baseline file, scans of a progressive one.
///
/// What is kept of a progressive file are its coefficients, and the bytes that are not decoded. Of another one it is the
/// picture and all its bytes: some damage is in doubt until the whole of it is there, see ``JPEGReader/isDamageInDoubt``.
final class JPEGIncrementalDecoder: IncrementalImageDecoder {
    private let options: DecodingOptions
    private let slots: IncrementalDecodingSlots
    /// `nil` until there are bytes, and after the end.
    private var reader: JPEGReader?
    /// Known with the last marker before the first scan.
    private var plan: DecodingPlan?
    /// Whether pixels are being decoded: not before there is a plan, and a slot if one is needed.
    private var isStarted = false
    private var slot: IncrementalDecodingSlot?
    /// What it holds of the process's memory once it is started.
    private var share: DecodingShare?
    /// From the file's first byte, until there is a plan; then, unless all are kept, from the first that is not decoded.
    private var bytes: [UInt8] = []
    /// How many of them libjpeg is done with.
    private var readCount = 0

    /// Whether the whole file was decoded anew in the end, see ``JPEGReader/isDamageInDoubt``.
    private(set) var hasDoubted = false
    /// Where the first scan begins.
    private var scanStart = 0
    private(set) var probe: ImageProbe?
    var animation: (any AnimationSource)? { nil }

    init(options: DecodingOptions, slots: IncrementalDecodingSlots) {
        self.options = options
        self.slots = slots
    }

    func append(_ bytes: Data) throws(WebImageError) {
        let wantsBytes = reader?.wantsBytes != false || isInDoubt
        // Should the whole be decoded anew, what follows damage counts too: how much follows decides which loop goes on.
        guard wantsBytes || reader?.mayDoubtDamage == true else { return }
        self.bytes.append(contentsOf: bytes)
        if wantsBytes { try advance(isEnd: false) }
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
        try advance(isEnd: true)
        if isInDoubt || reader?.mayDoubtDamage == true && hasFillBytes {
            reader = nil
            // It asks for memory anew.
            share = nil
            hasDoubted = true
            return try JPEGDecoder().decode(Data(bytes), options: options)
        }
        guard let reader, let plan else { throw .decoding(format: .jpeg, reason: .truncated) }
        defer {
            self.reader = nil
            slot = nil
        }
        return try plan.image(of: reader)
    }

    /// Whether it was started early enough for previews.
    private var hasPreviews = false

    private var isInDoubt: Bool { reader?.isDamageInDoubt == true }

    /// Whether two bytes of ones stand side by side in a scan, as no encoder writes them: libjpeg's fast loop takes them for a
    /// marker and gives its step to the slow one, which passes over them, but not without a trace in the pixels.
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
        // Out of `self` meanwhile, so that it is not copied. After an error there is no further call.
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
                if let damage = reader.damage, !isInDoubt, options.damage == .refuse { throw damage }
            }
        }
        if plan == nil { try options.limits.check(metadataByteCount: readCount) }
        if plan != nil, !reader.mayDoubtDamage {
            arrived.removeFirst(readCount)
            readCount = 0
        }
        bytes = consume arrived
    }

    /// What the markers say, which are all there.
    private func plan(of bytes: UnsafeRawBufferPointer) throws(WebImageError) -> DecodingPlan {
        let data = RawSpan(_unsafeBytes: bytes)
        let header = try JPEGHeader(reading: data)
        scanStart = header.byteCount
        probe = ImageProbe(header)
        return try DecodingPlan(header, of: data, options: options)
    }

    /// Takes memory for the picture, if it may have it now: at the end it may, or waits for it, since then it is soon given
    /// back. A picture that would be over the limit with previews has none.
    private func start(_ reader: JPEGReader, _ plan: DecodingPlan, isEnd: Bool) throws(WebImageError) -> Bool {
        let memory = try plan.memoryPlan(for: reader)
        if isEnd {
            share = try options.budget.share(memory.byteCount, cancellation: options.cancellation)
            try plan.start(reader, memory)
            return true
        }
        let byteCount = plan.byteCountWithPreviews(of: reader)
        guard reader.isSuspendable, byteCount <= options.limits.memoryByteCount else { return false }
        if reader.hasMultipleScans {
            slot = slots.take()
            if slot == nil { return false }
        }
        share = options.budget.previewShare(byteCount)
        guard share != nil else {
            slot = nil
            return false
        }
        try plan.start(reader, JPEGMemoryPlan())
        hasPreviews = true
        return true
    }
}
