import WebImageCore

/// The errors that a cache reported.
final class Reports: Sendable {
    private let errors = LockBox<[WebImageError]>([])

    var all: [WebImageError] { errors.withLock { $0 } }
    var codes: [Int] { all.map(\.code) }

    func add(_ error: WebImageError) { errors.withLock { $0.append(error) } }
}
