internal import WebImageCoding
public import WebImageCore

/// Which pictures of an animation are processed.
public enum AnimationProcessing: Sendable, Hashable {
    /// Every frame, each when it is asked for; loop count and durations stay.
    case everyFrame
    /// The first alone: the result is a still.
    case firstFrame
}

extension Image {
    /// This picture as `processors` make it, one after the other; blocks the calling thread for as long as that takes.
    ///
    /// - Parameter animation: whether the result moves if this picture does.
    /// - Throws: what ``ImageProcessor/process(_:cancellation:)`` throws.
    public func processed(
        by processors: [any ImageProcessor], animation: AnimationProcessing = .everyFrame,
        cancellation: Cancellation? = nil
    ) throws(WebImageError) -> Image {
        var image = self
        if animation == .firstFrame, image.animation != nil {
            image.animation = nil
            image.data = nil
        }
        return try ProcessorChain(processors).process(image, cancellation: cancellation)
    }

    /// This picture as `processors` make it, on the threads for decoding; Swift's cooperative threads are not blocked.
    ///
    /// A task that is cancelled stops the work at its next checkpoint.
    ///
    /// - Throws: what ``ImageProcessor/process(_:cancellation:)`` throws.
    public func processed(
        by processors: [any ImageProcessor], animation: AnimationProcessing = .everyFrame,
        priority: LoadPriority = .normal
    ) async throws(WebImageError) -> Image {
        let result = await DecodingQueue.run(priority: priority) { cancellation in
            Result { () throws(WebImageError) in
                try processed(by: processors, animation: animation, cancellation: cancellation)
            }
        }
        guard let result else { throw .cancelled }
        return try result.get()
    }
}
