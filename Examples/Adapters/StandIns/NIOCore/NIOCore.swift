// Stands in for NIOCore of swift-nio 2.101.3: the declarations that adapters use.

// The frameworks document their declarations.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public struct ByteBuffer: Sendable, Hashable {
    private let bytes: [UInt8]

    public init(bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

    public var readableBytes: Int { bytes.count }
    public var readableBytesView: ByteBufferView { ByteBufferView(bytes: bytes) }
}

public struct ByteBufferView: RandomAccessCollection, Sendable {
    fileprivate let bytes: [UInt8]

    public var startIndex: Int { 0 }
    public var endIndex: Int { bytes.count }
    public subscript(position: Int) -> UInt8 { bytes[position] }
}

public struct TimeAmount: Sendable {
    fileprivate let duration: Duration

    public init(_ duration: Duration) { self.duration = duration }
}

public struct NIODeadline: Sendable {
    private let instant: ContinuousClock.Instant?

    public static let distantFuture = NIODeadline(instant: nil)
    public static func now() -> NIODeadline { NIODeadline(instant: .now) }
    public static func + (deadline: NIODeadline, amount: TimeAmount) -> NIODeadline {
        NIODeadline(instant: deadline.instant.map { $0 + amount.duration })
    }

    /// For the stand-in of AsyncHTTPClient.
    public var timeLeft: Duration? { instant.map { $0 - .now } }
}
