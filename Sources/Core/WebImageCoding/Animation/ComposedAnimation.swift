internal import CWebImageKernels
internal import Glibc
package import WebImageCore

/// An animation whose frames are composed from the parts of a file, in any format.
///
/// Frames are composed at the size of the canvas, then resampled, converted and rotated like still images.
final class ComposedAnimation: LimitedAnimation {
    let identity: AnimationIdentity
    let frames: [AnimationFrame]
    let frameSize: PixelSize
    let file: any AnimationFile
    let starts: ReplayStarts
    private let plan: DecodingPlan
    /// The maximum memory to produce a frame.
    private let frameByteCount: Int

    /// - Parameter plan: the plan for the canvas. Its cancellation is ignored; each request for a frame has its own.
    init(_ file: any AnimationFile, plan: DecodingPlan) throws(WebImageError) {
        if !plan.options.firstFrameOnly {
            try plan.options.limits.check(frameCount: file.parts.count)
            try plan.options.limits.check(frameSizes: file.parts.lazy.map(\.size))
        }
        frameByteCount =
            plan.options.firstFrameOnly || file.parts.count == 1
            ? plan.byteCount(ofFirstFrameOf: file) : plan.byteCount(of: file)
        try plan.options.limits.check(memoryByteCount: frameByteCount)
        self.file = file
        identity = plan.options.animationIdentity ?? AnimationIdentity()
        starts = ReplayStarts(of: file.parts, on: file.canvasSize)
        frames = starts.frames(of: file.parts)
        frameSize = file.orientation.upright(plan.targetSize)
        var plan = plan
        plan.options.cancellation = nil
        self.plan = plan
    }

    var loopCount: Int { file.loopCount }
    var isComplete: Bool { file.isComplete }
    var byteCount: Int { file.byteCount }

    var limits: DecodingLimits? { plan.options.limits }

    func makeFrameReader() -> any AnimationFrameReader { ComposedFrameReader(self) }

    /// Calls `body`, which produces a frame, within the limits on time and memory.
    func makingFrame<Result>(
        _ cancellation: Cancellation?, _ body: (Cancellation?) throws(WebImageError) -> Result
    ) throws(WebImageError) -> Result {
        try plan.options.limits.withTimeLimit(cancellation) { (cancellation) throws(WebImageError) in
            var options = plan.options
            options.cancellation = cancellation
            return try options.withMemory(frameByteCount) { (_) throws(WebImageError) in try body(cancellation) }
        }
    }

    /// Returns the image shown for a composed canvas.
    func image(of canvas: PixelBuffer, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
        var plan = plan
        plan.options.cancellation = cancellation
        return try plan.image(of: canvas, format: file.format).pixels
    }
}

/// An animation with the limits of the decode that made it.
package protocol LimitedAnimation: AnimationSource {
    /// `nil` if it was made from one of a custom decoder, which has none.
    var limits: DecodingLimits? { get }
}

extension DecodingPlan {
    /// Returns the first frame of `file`, with the animation if there are several frames and the options do not require
    /// the first only.
    func image(of file: any AnimationFile) throws(WebImageError) -> Image {
        let animation = try ComposedAnimation(file, plan: self)
        let canvas = try ComposedFrameReader(animation).canvas(at: 0, cancellation: options.cancellation)
        var image = try image(of: canvas, format: file.format, frameCount: file.parts.count)
        if file.parts.count > 1, !options.firstFrameOnly { image.animation = animation }
        return image
    }

    /// The maximum memory to produce frames of an animation: the canvas, a copy that a caller may hold, the largest
    /// part, its decoder, and the further steps.
    func byteCount(of file: some AnimationFile) -> Int {
        let part = file.parts.reduce(0) { max($0, $1.size.pixelByteCount + file.workingByteCount(of: $1.size)) }
        return part + file.canvasSize.pixelByteCount + byteCount(from: file.canvasSize)
    }

    /// The same for the first frame alone. If its part covers the canvas, the part's pixels are the canvas.
    ///
    /// - Parameter workingByteCount: the memory of its decoder besides the pixels.
    func byteCount(ofFirst part: FramePart, on canvasSize: PixelSize, workingByteCount: Int) -> Int {
        workingByteCount + byteCount(from: canvasSize)
            + (part.covers(canvasSize) ? 0 : part.size.pixelByteCount)
    }

    /// The same for the first frame of `file`.
    func byteCount(ofFirstFrameOf file: some AnimationFile) -> Int {
        guard let part = file.parts.first else { return 0 }
        return byteCount(
            ofFirst: part, on: file.canvasSize, workingByteCount: file.workingByteCount(of: part.size))
    }
}

/// The animation of a file that is still arriving. It is rebuilt only after the number of frames has grown by a
/// sixteenth.
///
/// Rebuilding visits all frames, so with each of 50,000 frames it would take a billion steps. Up to 31 frames, each one
/// counts; later, up to a sixteenth of them may be missing. All rebuilt animations together have about 17 times the
/// frames of the last one.
struct ArrivingAnimation {
    private var made: (result: Result<ComposedAnimation?, WebImageError>, frameCount: Int, isComplete: Bool)?

    /// Returns the animation of `frameCount` frames, or of nearly all of them; `nil` for none.
    ///
    /// - Parameter isComplete: whether no further frame comes, and none may be missing.
    mutating func source(
        frameCount: Int, isComplete: Bool, make: () throws(WebImageError) -> ComposedAnimation?
    ) throws(WebImageError) -> ComposedAnimation? {
        guard frameCount > 0 else { return nil }
        if let made, made.isComplete == isComplete {
            let step = isComplete ? 1 : max(1, made.frameCount / 16)
            if made.frameCount..<made.frameCount + step ~= frameCount { return try made.result.get() }
        }
        let result = Result { () throws(WebImageError) in try make() }
        made = (result, frameCount, isComplete)
        return try result.get()
    }
}

/// Composes the frames of one animation on a canvas.
///
///     part 0 ── draw ──▶ canvas ── dispose, draw ──▶ canvas ── …      the next frame: one part
///                          │                           │
///                          ▼                           ▼             a frame further back or ahead: from its
///                       image                     image          ``ReplayStarts`` on
///
/// The image of a frame is the canvas itself, frozen; drawing the next frame copies it only if a caller still holds it.
/// A part with ``FramePart/Disposal/restore`` is drawn on a copy, so nothing has to be restored. The pixels do not
/// depend on the order of calls.
final class ComposedFrameReader: ExtensibleFrameReader {
    private var animation: ComposedAnimation
    private let canvasSize: PixelSize
    private var parts: [FramePart]
    /// `nil` while transparent.
    private var canvas: PixelBuffer?
    /// All parts before this one are drawn on the canvas.
    private var next = 0
    /// The frame on the canvas: the part before ``next``, not yet disposed of.
    private var shown: Int?

    init(_ animation: ComposedAnimation) {
        self.animation = animation
        canvasSize = animation.file.canvasSize
        parts = animation.file.parts
    }

    func frame(at index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
        try animation.makingFrame(cancellation) { (cancellation) throws(WebImageError) in
            try animation.image(of: canvas(at: index, cancellation: cancellation), cancellation: cancellation)
        }
    }

    /// Both have the same parts so far, and so the same canvas.
    func update(to source: any AnimationSource) -> Bool {
        guard let longer = source as? ComposedAnimation, longer.identity == animation.identity,
            longer.file.canvasSize == canvasSize, longer.file.parts.count >= parts.count
        else { return false }
        animation = longer
        parts = longer.file.parts
        return true
    }

    /// Returns the composed frame at the size of the canvas.
    func canvas(at index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
        precondition(parts.indices.contains(index), "there is no frame \(index) of \(parts.count)")
        if shown == index, let canvas { return canvas }
        let part = parts[index]
        if part.replaces(canvasSize) {
            let image = try pixels(of: index, cancellation: cancellation)
            if part.disposal != .restore { show(image, of: index) }
            return image
        }
        try advance(to: index, cancellation: cancellation)
        let piece = part.isEmpty ? nil : try pixels(of: index, cancellation: cancellation)
        // If the canvas is to be restored, a second reference makes drawing copy it.
        var ground = canvas
        if part.disposal != .restore { canvas = nil }
        do throws(WebImageError) {
            let image = try drawn(piece, of: part, on: &ground, cancellation: cancellation)
            if part.disposal != .restore { show(image, of: index) }
            return image
        } catch {
            if part.disposal != .restore { begin(with: 0) }
            throw error
        }
    }

    /// Prepares the canvas for drawing a part.
    ///
    /// A part with damaged pixels draws nothing, and clears the canvas if it would have replaced it, so that the frame
    /// does not depend on where composing starts.
    private func advance(to index: Int, cancellation: Cancellation?) throws(WebImageError) {
        if next > index || next < animation.starts[index] { begin(with: animation.starts[index]) }
        try dispose(cancellation: cancellation)
        while next < index {
            try cancellation?.check()
            let part = parts[next]
            switch part.disposal {
            case .restore: break
            case .clear: try clear(part, cancellation: cancellation)
            case .keep: try draw(next, cancellation: cancellation)
            }
            next += 1
        }
    }

    private func draw(_ index: Int, cancellation: Cancellation?) throws(WebImageError) {
        let part = parts[index]
        guard !part.isEmpty else { return }
        let piece: PixelBuffer
        do throws(WebImageError) {
            piece = try pixels(of: index, cancellation: cancellation)
        } catch {
            switch error {
            case .cancelled, .outOfResources, .limitExceeded(.processorTime, _): throw error
            default: if part.replaces(canvasSize) { canvas = nil }
            }
            return
        }
        do throws(WebImageError) {
            canvas = try drawn(piece, of: part, on: &canvas, cancellation: cancellation)
        } catch {
            begin(with: 0)
            throw error
        }
    }

    private func dispose(cancellation: Cancellation?) throws(WebImageError) {
        guard let index = shown else { return }
        if parts[index].disposal == .clear { try clear(parts[index], cancellation: cancellation) }
        shown = nil
    }

    private func clear(_ part: FramePart, cancellation: Cancellation?) throws(WebImageError) {
        if part.covers(canvasSize) { canvas = nil }
        guard canvas != nil, !part.isEmpty else { return }
        do throws(WebImageError) {
            guard var pixels = try MutablePixelBuffer(thawing: &canvas) else { return }
            try pixels.clear(part, cancellation: cancellation)
            canvas = pixels.freeze(isOpaque: false)
        } catch {
            begin(with: 0)
            throw error
        }
    }

    /// Returns `ground` with a part drawn on it, copying only if needed: a part that replaces the canvas is the result
    /// itself.
    private func drawn(
        _ piece: PixelBuffer?, of part: FramePart, on ground: inout PixelBuffer?, cancellation: Cancellation?
    ) throws(WebImageError) -> PixelBuffer {
        if let piece, part.replaces(canvasSize) || ground == nil && part.covers(canvasSize) { return piece }
        if piece == nil, let ground { return ground }
        let wasOpaque = ground?.isOpaque == true
        var pixels: MutablePixelBuffer
        if let thawed = try MutablePixelBuffer(thawing: &ground) {
            pixels = thawed
        } else {
            pixels = try MutablePixelBuffer(width: canvasSize.width, height: canvasSize.height)
            try pixels.clear(cancellation: cancellation)
        }
        guard let piece else { return pixels.freeze(isOpaque: false) }
        try pixels.draw(piece, of: part, cancellation: cancellation)
        let staysOpaque = wasOpaque && (part.blend == .over || piece.isOpaque)
        return pixels.freeze(isOpaque: staysOpaque || part.covers(canvasSize) && piece.isOpaque)
    }

    private func pixels(of index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
        try cancellation?.check()
        let pixels = try animation.file.pixels(ofPart: index, cancellation: cancellation)
        precondition(pixels.size == parts[index].size, "part \(index) has \(pixels.size) pixels")
        return pixels
    }

    private func show(_ image: PixelBuffer, of index: Int) {
        canvas = image
        shown = index
        next = index + 1
    }

    /// Restarts at a part that replaces the canvas or needs it transparent.
    private func begin(with index: Int) {
        canvas = nil
        shown = nil
        next = index
    }
}

extension MutablePixelBuffer {
    /// Draws the pixels of a part on this canvas.
    ///
    /// - Precondition: `piece` has the part's size, and the part is within the canvas.
    mutating func draw(
        _ piece: PixelBuffer, of part: FramePart, cancellation: Cancellation?
    ) throws(WebImageError) {
        precondition(piece.size == part.size, "\(piece.size) pixels for a part of \(part.size)")
        let source = piece.baseAddress.assumingMemoryBound(to: UInt8.self)
        let replacesAll = part.blend == .source || piece.isOpaque
        try forEachRow(of: part, cancellation: cancellation) { row, destination in
            let pixels = source + row * piece.bytesPerRow
            if replacesAll {
                memcpy(destination, pixels, part.size.width * 4)
            } else {
                cwi_blend_over(pixels, destination, part.size.width)
            }
        }
    }

    /// Makes the rectangle of a part transparent.
    ///
    /// - Precondition: the part is within the canvas.
    mutating func clear(_ part: FramePart, cancellation: Cancellation?) throws(WebImageError) {
        try forEachRow(of: part, cancellation: cancellation) { _, destination in
            memset(destination, 0, part.size.width * 4)
        }
    }

    private mutating func forEachRow(
        of part: FramePart, cancellation: Cancellation?, _ body: (Int, UnsafeMutablePointer<UInt8>) -> Void
    ) throws(WebImageError) {
        precondition(part.lies(inside: size), "a part of \(part.size) at (\(part.left), \(part.top)) on \(size)")
        let stride = bytesPerRow
        try withUnsafeMutableBytes { (bytes) throws(WebImageError) in
            guard let canvas = bytes.bindMemory(to: UInt8.self).baseAddress else { return }
            let corner = canvas + part.top * stride + part.left * 4
            try part.size.forEachRowBatch(cancellation: cancellation) { rows in
                for row in rows { body(row, corner + row * stride) }
            }
        }
    }
}
