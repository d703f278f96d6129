internal import WebImageCore
public import WebImageLoading

/// A request to an ``ImageService``, from a server of any kind.
///
/// Cancelling the task that waits for the answer ends the request: work that no other request waits for stops at its next checkpoint.
public struct ServiceRequest: Sendable {
    /// The method, such as `GET`.
    public var method: String
    /// The path, and the query if there is one, as the client sent them: nothing is decoded.
    public var target: String
    /// The header fields.
    public var headers: [HTTPHeader]
    /// When the answer is of no use any more; `nil`, the default, leaves it to ``ImageService/Limits/time``.
    public var deadline: ContinuousClock.Instant?

    /// Creates a request.
    public init(
        method: String = "GET", target: String, headers: [HTTPHeader] = [], deadline: ContinuousClock.Instant? = nil
    ) {
        (self.method, self.target, self.headers, self.deadline) = (method, target, headers, deadline)
    }

    /// The values of a field, joined as one list; `nil` without the field.
    func header(_ name: String) -> String? { headers.combinedValue(named: name) }
}
