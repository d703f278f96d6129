import CWebImageIsolation
import FoundationEssentials
import Glibc
import Testing
import WebImageCore

@testable import WebImageIsolation

/// What the program's end of a channel takes for a message.
@Suite(.timeLimit(.minutes(1))) struct ChannelTests {
    private let (ends, channel): ((Int32, Int32), Channel)

    init() throws {
        var ends: (Int32, Int32) = (-1, -1)
        let status = withUnsafeMutablePointer(to: &ends) {
            $0.withMemoryRebound(to: Int32.self, capacity: 2) {
                socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, $0)
            }
        }
        try #require(status == 0)
        (self.ends, channel) = (ends, Channel(descriptor: ends.0))
    }

    private func close() { for end in [ends.0, ends.1] { Glibc.close(end) } }

    private static let packetByteCount = Int(CWI_MAXIMUM_MESSAGE)

    private func send(_ bytes: [UInt8], memory: SharedMemory? = nil) {
        let descriptors = memory.map { [$0.descriptor] } ?? []
        #expect(cwi_channel_send(ends.1, bytes, bytes.count, descriptors, descriptors.count) == CWI_CHANNEL_OK)
    }

    private func full(_ flag: UInt8) -> [UInt8] { [flag] + [UInt8](repeating: 7, count: Self.packetByteCount - 1) }

    private func receive(seconds: Double = 0.05) throws -> Channel.Message? {
        let deadline = Channel.Limit.now + seconds
        return try channel.receive(until: deadline, within: Channel.Limit(deadline: deadline))
    }

    /// Why the next message is invalid.
    private func failure() -> String? {
        do {
            _ = try receive()
            return nil
        } catch Channel.Failure.invalid(let message) {
            return message.reason
        } catch {
            return "\(error)"
        }
    }

    @Test func packetsHaveALimit() {
        defer { close() }
        let bytes = [UInt8](repeating: 7, count: Self.packetByteCount + 1)
        let descriptors = [Int32](repeating: ends.0, count: Int(CWI_MAXIMUM_DESCRIPTORS) + 1)
        for (length, count) in [(bytes.count, 0), (1, descriptors.count)] {
            #expect(cwi_channel_send(ends.1, bytes, length, descriptors, count) == CWI_CHANNEL_FAILED)
            #expect(errno == EMSGSIZE)
        }
    }

    @Test func aMessageOfSeveralPacketsArrives() throws {
        defer { close() }
        let memory = try SharedMemory(byteCount: 4096)
        send(full(1), memory: memory)
        send([0, 1, 2])
        let message = try #require(try receive())
        #expect(message.bytes.count == Self.packetByteCount + 1 && message.bytes.suffix(2) == [1, 2])
        #expect(message.memory.count == 1)
    }

    @Test func whatIsNoMessageIsRefused() throws {
        defer { close() }
        let memory = try SharedMemory(byteCount: 4096)
        send(full(1))
        send([0, 1], memory: memory)
        #expect(failure() == "memory comes in the middle of it")
        send(full(1))
        send([1, 1])
        #expect(failure() == "a part of it is too short")
        send([2, 1])
        #expect(failure() == "it does not begin")
        send(full(1))
        #expect(failure() == "interrupted")
        #expect(try receive() == nil)
        Glibc.close(ends.1)
        #expect(failure() == "closed")
    }

    @Test func aMessageHasALimit() async {
        defer { close() }
        let (packet, end) = (full(1), ends.1)
        let count = Channel.decoderByteLimit / (Self.packetByteCount - 1) + 1
        _ = PlatformThread.start(name: "sending") {
            for _ in 0..<count { _ = cwi_channel_send(end, packet, packet.count, nil, 0) }
        }
        do {
            _ = try receive(seconds: 50)
            Issue.record("received")
        } catch Channel.Failure.invalid(let message) {
            #expect(message.reason == "it is too long")
        } catch {
            Issue.record("\(error)")
        }
    }

    @Test func sendingHasADeadline() throws {
        defer { close() }
        let limit = Channel.Limit(deadline: Channel.Limit.now + 0.05)
        #expect(throws: Channel.Failure.self) {
            try channel.send([UInt8](repeating: 1, count: 8 << 20), memory: [], within: limit)
        }
    }

    @Test func anotherThreadEndsAWait() throws {
        defer { close() }
        let interruption = try #require(Interruption())
        interruption.signal()
        let limit = Channel.Limit(deadline: Channel.Limit.now + 50, interruption: interruption)
        #expect(try channel.receive(until: .infinity, within: limit) == nil)
        #expect(Channel.Limit.now < limit.deadline)
        interruption.clear()
        send([0, 9])
        #expect(try channel.receive(until: .infinity, within: limit)?.bytes == [9])
    }
}
