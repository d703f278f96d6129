import WebImageCore

/// What an entry of a trace says in values, for programs.
extension TraceFact {
    var byteCount: Int? {
        switch self {
        case .diskRead(_, let count, _): count
        case .answered(let answer): try? answer.byteCount.get()
        case .arrivedBefore(let count), .stored(let count), .variantRead(let count): count
        default: nil
        }
    }

    var origin: ImageOrigin? {
        switch self {
        case .memoryAnswered, .memoryShown, .reused: .memoryCache
        case .diskRead(let count, _, _): count > 0 ? .diskCache : nil
        case .variantRead, .pixelsRead: .diskCache
        case .answered: hasFailed ? nil : .remote
        case .arrivedBefore, .provided: .remote
        default: nil
        }
    }

    var hasFailed: Bool {
        switch self {
        case .failed: true
        case .answered(let answer): if case .failure = answer.byteCount { true } else { false }
        default: false
        }
    }
}
