internal import CWebImageIsolation
internal import Glibc
internal import WebImageCore

/// One end of the connection between a program and a decoder process. Used by one thread at a time in each direction.
///
/// A message is sent in packets of 64 KiB, of which the last may be shorter: a byte that tells whether more follow, then content. Descriptors
/// come with the first. The program's end never blocks: all its waits have a deadline and can be interrupted.
package struct Channel: Sendable {
    /// The descriptor of a decoder process, which it gets from its parent.
    package static let inDecoder = Channel(descriptor: Int32(CWI_CHANNEL_DESCRIPTOR), isInDecoder: true)

    /// Whether this process got a channel from its parent.
    package static var isInherited: Bool {
        var (type, length) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
        return getsockopt(inDecoder.descriptor, SOL_SOCKET, SO_TYPE, &type, &length) == 0
            && type == Int32(SOCK_SEQPACKET.rawValue)
    }

    private let descriptor: Int32
    private let isInDecoder: Bool

    /// The program's end.
    init(descriptor: Int32) {
        self.init(descriptor: descriptor, isInDecoder: false)
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    }

    private init(descriptor: Int32, isInDecoder: Bool) {
        (self.descriptor, self.isInDecoder) = (descriptor, isInDecoder)
    }

    /// Why a message did not pass.
    package enum Failure: Error {
        /// The other process has ended.
        case closed
        /// The bytes that arrived are no message.
        case invalid(InvalidMessage)
        /// The wait ended, in the middle of a message.
        case interrupted
        /// A system call failed.
        case system(errno: Int32)
    }

    /// A message, and the memory that came with it.
    package struct Message {
        package var bytes: [UInt8]
        package var memory: [SharedMemory]
    }

    /// When waits end.
    struct Limit {
        /// In seconds of the monotonic clock.
        var deadline = Double.infinity
        /// Ends a wait, after which ``isOver`` tells whether there is any more.
        var interruption: Interruption?
        var isOver: () -> Bool = { false }

        /// The monotonic clock, in seconds.
        static var now: Double {
            var time = timespec()
            clock_gettime(CLOCK_MONOTONIC, &time)
            return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        }
    }

    private static let packetByteCount = Int(CWI_MAXIMUM_MESSAGE)
    /// The longest message of a program: options have EXIF and the durations of an animation.
    private static let programByteLimit = 64 << 20
    /// The longest message of a decoder: as many frames as are allowed.
    static let decoderByteLimit = 30 << 20

    // MARK: Sending

    /// Sends a message, in a decoder process.
    package func send(_ bytes: [UInt8]) throws(Failure) { try send(bytes, memory: [], within: Limit()) }

    func send(_ bytes: [UInt8], memory: [SharedMemory], within limit: Limit) throws(Failure) {
        var (offset, descriptors) = (0, memory.map(\.descriptor))
        repeat {
            let end = min(bytes.count, offset + Self.packetByteCount - 1)
            let packet = [end < bytes.count ? 1 : 0] + bytes[offset..<end]
            switch cwi_channel_send(descriptor, packet, packet.count, descriptors, descriptors.count) {
            case CWI_CHANNEL_OK: (offset, descriptors) = (end, [])
            case CWI_CHANNEL_CLOSED: throw .closed
            default:
                guard errno == EAGAIN else { throw .system(errno: errno) }
                try wait(for: POLLOUT, within: limit)
            }
        } while offset < bytes.count
        withExtendedLifetime(memory) {}
    }

    // MARK: Receiving

    /// Receives a message, in a decoder process.
    package func receive() throws(Failure) -> Message { try message(within: Limit()) }

    /// Receives a message; `nil` if none has begun until `time`, or until an interruption.
    func receive(until time: Double, within limit: Limit) throws(Failure) -> Message? {
        guard try isReady(for: POLLIN, until: min(time, limit.deadline), limit.interruption) else { return nil }
        return try message(within: limit)
    }

    private func message(within limit: Limit) throws(Failure) -> Message {
        let byteLimit = isInDecoder ? Self.programByteLimit : Self.decoderByteLimit
        var message = try packet()
        while message.isContinued {
            if !isInDecoder { try wait(for: POLLIN, within: limit) }
            let next = try packet()
            message.bytes += next.bytes
            message.isContinued = next.isContinued
            guard next.memory.isEmpty else { throw .invalid(InvalidMessage("memory comes in the middle of it")) }
            guard message.bytes.count <= byteLimit else { throw .invalid(InvalidMessage("it is too long")) }
        }
        return Message(bytes: message.bytes, memory: message.memory)
    }

    private func packet() throws(Failure) -> (bytes: [UInt8], memory: [SharedMemory], isContinued: Bool) {
        var (length, count) = (0, 0)
        var descriptors: (Int32, Int32) = (-1, -1)
        var status = CWI_CHANNEL_OK
        let bytes = [UInt8](unsafeUninitializedCapacity: Self.packetByteCount) { buffer, initializedCount in
            withUnsafeMutablePointer(to: &descriptors) { pointer in
                pointer.withMemoryRebound(to: Int32.self, capacity: 2) { descriptors in
                    status = cwi_channel_receive(
                        descriptor, buffer.baseAddress, buffer.count, &length, descriptors, &count, -1)
                }
            }
            initializedCount = length
        }
        switch status {
        case CWI_CHANNEL_OK: break
        case CWI_CHANNEL_CLOSED: throw .closed
        default: throw .system(errno: errno)
        }
        let received = [descriptors.0, descriptors.1].prefix(count).map {
            SharedMemory(received: $0, isFromProgram: isInDecoder)
        }
        let memory = received.compactMap(\.self)
        guard memory.count == received.count else { throw .invalid(InvalidMessage("its memory can change its size")) }
        guard let first = bytes.first, first <= 1 else { throw .invalid(InvalidMessage("it does not begin")) }
        // Only full packets are continued, so that their number is bounded.
        guard first == 0 || bytes.count == Self.packetByteCount else {
            throw .invalid(InvalidMessage("a part of it is too short"))
        }
        return (Array(bytes.dropFirst()), memory, first == 1)
    }

    // MARK: Waiting

    /// Waits in the middle of a message.
    private func wait(for event: Int32, within limit: Limit) throws(Failure) {
        while try !isReady(for: event, until: limit.deadline, limit.interruption) {
            limit.interruption?.clear()
            if limit.isOver() || Limit.now >= limit.deadline { throw .interrupted }
        }
    }

    /// Waits until the channel can be used; `false` if the wait ended before.
    private func isReady(
        for event: Int32, until time: Double, _ interruption: Interruption?
    ) throws(Failure) -> Bool {
        let rest = (time - Limit.now) * 1000
        var waiting = [pollfd(fd: descriptor, events: Int16(event), revents: 0)]
        if let interruption { waiting.append(pollfd(fd: interruption.descriptor, events: Int16(POLLIN), revents: 0)) }
        let milliseconds = rest < Double(Int32.max) ? Int32(max(0, rest.rounded(.up))) : -1
        let count = poll(&waiting, nfds_t(waiting.count), milliseconds)
        // A signal ends the wait, too: the caller looks at its clock.
        guard count >= 0 || errno == EINTR else { throw .system(errno: errno) }
        return count > 0 && waiting[0].revents != 0
    }
}
