/// One header field.
public struct HTTPHeader: Sendable, Hashable {
    /// The name as received; names are compared without regard to case.
    public var name: String
    /// The value without surrounding white space.
    public var value: String

    /// Creates a field.
    public init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}
