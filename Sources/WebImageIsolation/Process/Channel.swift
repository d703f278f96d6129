internal import CWebImageIsolation
internal import Glibc
internal import WebImageCore

/// One end of the connection between a program and a decoder process. Used by one thread at a time in each direction.
///
/// A message is sent in packets of at most 64 KiB: a byte that tells whether more follow, then content. Descriptors come with
/// the first.
package struct Channel: Sendable {
    /// The descriptor of a decoder process, which it gets from its parent.
    package static let inDecoder = Channel(descriptor: Int32(CWI_CHANNEL_DESCRIPTOR), isInDecoder: true)

    /// Whether this process got a channel from its parent.
    package static var isInherited: Bool {
        var (type, length) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
        return getsockopt(inDecoder.descriptor, SOL_SOCKET, SO_TYPE, &type, &length) == 0
            && type == Int32(SOCK_SEQPACKET.rawValue)
    }

    let descriptor: Int32
    private let isInDecoder: Bool

    init(descriptor: Int32, isInDecoder: Bool = false) {
        self.descriptor = descriptor
        self.isInDecoder = isInDecoder
    }

    /// Why a message did not pass.
    package enum Failure: Error {
        /// The other process has ended.
        case closed
        /// What arrived is no message.
        case invalid(InvalidMessage)
        /// A system call failed.
        case system(errno: Int32)
    }

    /// A message, and the memory that came with it.
    package struct Message {
        package var bytes: [UInt8]
        package var memory: [SharedMemory]
    }

    /// The longest message, 32 MiB: EXIF and the durations of an animation are in messages.
    private static let byteLimit = 32 << 20
    private static let packetByteCount = Int(CWI_MAXIMUM_MESSAGE)

    package func send(_ bytes: [UInt8], memory: [SharedMemory] = []) throws(Failure) {
        var (offset, descriptors) = (0, memory.map(\.descriptor))
        repeat {
            let end = min(bytes.count, offset + Self.packetByteCount - 1)
            let packet = [end < bytes.count ? 1 : 0] + bytes[offset..<end]
            switch cwi_channel_send(descriptor, packet, packet.count, descriptors, descriptors.count) {
            case CWI_CHANNEL_OK: break
            case CWI_CHANNEL_CLOSED: throw .closed
            default: throw .system(errno: errno)
            }
            (offset, descriptors) = (end, [])
        } while offset < bytes.count
        withExtendedLifetime(memory) {}
    }

    /// Receives a message; `nil` if none has begun within `milliseconds`. -1 waits without a limit.
    package func receive(milliseconds: Int32) throws(Failure) -> Message? {
        guard var message = try packet(milliseconds: milliseconds) else { return nil }
        while message.isContinued {
            // The rest of a message is sent at once.
            guard let next = try packet(milliseconds: Self.continuationMilliseconds) else {
                throw .invalid(InvalidMessage("the rest of it did not arrive"))
            }
            message.bytes += next.bytes
            message.isContinued = next.isContinued
            guard next.memory.isEmpty, message.bytes.count <= Self.byteLimit else {
                throw .invalid(InvalidMessage("it is too long"))
            }
        }
        return Message(bytes: message.bytes, memory: message.memory)
    }

    private static let continuationMilliseconds: Int32 = 1000

    private func packet(
        milliseconds: Int32
    ) throws(Failure) -> (bytes: [UInt8], memory: [SharedMemory], isContinued: Bool)? {
        var (length, count) = (0, 0)
        var descriptors: (Int32, Int32) = (-1, -1)
        var status = CWI_CHANNEL_OK
        let bytes = [UInt8](unsafeUninitializedCapacity: Self.packetByteCount) { buffer, initializedCount in
            withUnsafeMutablePointer(to: &descriptors) { pointer in
                pointer.withMemoryRebound(to: Int32.self, capacity: 2) { descriptors in
                    status = cwi_channel_receive(
                        descriptor, buffer.baseAddress, buffer.count, &length, descriptors, &count, milliseconds)
                }
            }
            initializedCount = length
        }
        switch status {
        case CWI_CHANNEL_OK: break
        case CWI_CHANNEL_IDLE: return nil
        case CWI_CHANNEL_CLOSED: throw .closed
        default: throw .system(errno: errno)
        }
        let received = [descriptors.0, descriptors.1].prefix(count).map {
            SharedMemory(received: $0, isFromProgram: isInDecoder)
        }
        let memory = received.compactMap(\.self)
        guard memory.count == received.count else { throw .invalid(InvalidMessage("its memory can change its size")) }
        guard let first = bytes.first, first <= 1 else { throw .invalid(InvalidMessage("it does not begin")) }
        return (Array(bytes.dropFirst()), memory, first == 1)
    }
}
