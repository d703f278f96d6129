import Glibc
import Testing

@testable import WebImageIsolation

/// What a process that was taken over can do, by what is around it. A layer that is reported and not there shows where others are missing.
@Suite(.serialized, .timeLimit(.minutes(3))) struct SandboxActsTests {
    private typealias Layers = Set<SandboxLayer>

    private static let all = Layers(SandboxLayer.allCases)
    private static let namespaces: Layers = [
        .userNamespace, .networkNamespace, .ipcNamespace, .processNamespace, .emptyFileSystem,
    ]
    private static let landlock: Layers = [.landlock, .landlockScopes]

    /// What is around the process, and the layers that it lacks there. The first part needs root.
    struct Place: CustomTestStringConvertible {
        let situations: String
        let missing: Set<SandboxLayer>
        var testDescription: String { situations }
    }

    static let places = allPlaces.filter { SandboxProbe.rootIsMount || !$0.situations.contains("no-proc") }

    private static let allPlaces = [
        Place(situations: "plain", missing: []),
        Place(situations: "nobody", missing: []),
        Place(situations: "no-proc", missing: []),
        Place(situations: "no-proc nobody", missing: []),
        Place(situations: "no-new-namespaces", missing: namespaces),
        Place(situations: "nobody no-new-namespaces", missing: namespaces),
        Place(situations: "no-user-namespace", missing: [.userNamespace]),
        Place(situations: "nobody no-user-namespace", missing: namespaces),
        Place(situations: "no-capabilities no-new-namespaces", missing: namespaces.union([.threadLimit])),
        Place(
            situations: "no-capabilities no-new-namespaces no-seccomp",
            missing: namespaces.union([.threadLimit, .systemCallFilter])),
        Place(situations: "docker", missing: namespaces),
        Place(situations: "docker nobody", missing: namespaces),
        Place(situations: "old-docker docker", missing: namespaces.union(landlock)),
        Place(situations: "old-docker docker nobody", missing: namespaces.union(landlock)),
        Place(situations: "nobody flatpak", missing: namespaces),
        Place(situations: "nobody snap", missing: namespaces.union(landlock)),
        Place(situations: "snap", missing: namespaces.union(landlock).union([.threadLimit])),
        Place(situations: "landlock-0", missing: landlock),
        Place(situations: "landlock-1", missing: [.landlockScopes]),
        Place(situations: "landlock-2", missing: [.landlockScopes]),
        Place(situations: "landlock-4", missing: [.landlockScopes]),
        Place(situations: "landlock-6", missing: []),
        Place(situations: "landlock-7", missing: []),
        Place(situations: "no-seccomp", missing: [.systemCallFilter]),
        // Each of the following shows what one kind of layer stops by itself.
        Place(situations: "landlock-0 no-seccomp", missing: landlock.union([.systemCallFilter])),
        Place(situations: "landlock-0 no-new-namespaces", missing: landlock.union(namespaces)),
        Place(
            situations: "landlock-1 no-new-namespaces no-seccomp",
            missing: namespaces.union([.landlockScopes, .systemCallFilter])),
        Place(
            situations: "landlock-4 no-new-namespaces no-seccomp",
            missing: namespaces.union([.landlockScopes, .systemCallFilter])),
        Place(situations: "landlock-7 no-new-namespaces no-seccomp", missing: namespaces.union([.systemCallFilter])),
        Place(
            situations: "landlock-0 no-new-namespaces no-seccomp",
            missing: landlock.union(namespaces).union([.systemCallFilter])),
    ]

    /// The layers that refuse an act, each of them by itself.
    private static let stoppers: [String: Layers] = {
        let files: Layers = [.systemCallFilter, .landlock, .emptyFileSystem]
        let filter: Layers = [.systemCallFilter]
        let limits: Layers = [.systemCallFilter, .resourceLimits]
        var stoppers: [String: Layers] = [
            "open": files, "openOwnMemory": files, "create": files, "writeOffer": files,
            "mayWriteOffer": [.systemCallFilter, .emptyFileSystem], "list": files, "execute": files,
            "connect": [.systemCallFilter, .networkNamespace],
            "connectAbstract": [.systemCallFilter, .networkNamespace, .landlockScopes],
            "signal": [.systemCallFilter, .processNamespace, .landlockScopes],
            "signalThread": [.systemCallFilter, .processNamespace, .landlockScopes],
            "descriptorOfProcess": [.systemCallFilter, .processNamespace],
            "limitsOfProcess": [.systemCallFilter, .processNamespace],
            "sharedMemory": [.systemCallFilter, .ipcNamespace],
            "chroot": [.systemCallFilter, .noCapabilities], "setUser": [.systemCallFilter, .noCapabilities],
            "hostName": [.systemCallFilter, .noCapabilities],
            "dump": all, "write": [.resourceLimits], "descriptors": [.resourceLimits],
            "raiseMemory": limits, "raiseFileSize": limits, "raiseDescriptors": limits,
        ]
        for name in [
            "changeMemory", "changeMemoryByOldCall", "cloneThreadOfOtherKind", "changeAddressSpace", "changeTime",
            "changeThreads", "mapExecutable", "makeExecutable",
            "mapShared", "mapGrowing", "fork", "cloneUser", "clone3", "unshare", "setOwner", "setOwnerOfKind",
            "setSignal", "signalOnInput", "changeFlags", "notify", "lease", "lock", "seal", "wideCommand", "ioctlAsync",
            "ioctlOwner", "ioctlGroup", "ioctlInput",
        ] { stoppers[name] = filter }
        return stoppers
    }()

    private static let needed = [
        "readFlags", "readSeals", "copyDescriptor", "closeOnExecute", "mapFile", "readLimits", "wait",
    ]

    /// What the filter of system calls answers, in place of the kernel.
    private static let offered = ["readOffer", "mayReadOffer"]

    @Test(.enabled(if: geteuid() == 0, "the situations are those of root"), arguments: places)
    func layersRefuseWhatTheyShould(place: Place) throws {
        let outside = try Outside()
        let probe = try SandboxProbe(place.situations)
        let version =
            place.situations.firstRange(of: "landlock-").flatMap { Int(String(place.situations[$0.upperBound])) } ?? 0
        var missing = place.missing
        if !SandboxProbe.hasUserNamespaces {
            missing.formUnion(place.situations.contains("nobody") ? Self.namespaces : [.userNamespace])
        }
        if !SandboxProbe.rootIsMount { missing.insert(.emptyFileSystem) }
        #expect(Self.all.subtracting(probe.layers) == missing, "\(probe.errors)")
        #expect(probe.errors.values.allSatisfy { $0 > 0 }, "a missing layer has an error")
        let path = "/tmp/webimage-probe-\(getpid())"
        defer { unlink(path) }
        let acts = try probe.lines("acts \(getpid()) \(outside.port) \(outside.key) \(outside.name) \(path)")
        #expect(Set(acts.map { $0[0] }) == Set(Self.stoppers.keys).union(Self.needed + Self.offered))
        for act in acts {
            let (name, isRefused) = (act[0], act[1] != "0")
            if let stoppers = Self.stoppers[name] {
                var stoppers = stoppers
                if name == "connect", version >= 4 || !place.situations.contains("landlock-") {
                    stoppers.insert(.landlock)
                }
                if !stoppers.isDisjoint(with: probe.layers) { #expect(isRefused, "\(name) is possible") }
            } else if !Self.offered.contains(name) || probe.layers.contains(.systemCallFilter) {
                #expect(!isRefused, "\(name) is refused: \(act[1])")
            }
        }
        #expect((access(path, F_OK) == 0) == acts.contains(["create", "0"]))
    }

    @Test(
        .enabled(if: geteuid() == 0, "needs root"),
        arguments: ["plain", "nobody", "docker", "docker nobody", "nobody flatpak", "no-user-namespace"])
    func threadsAreLimited(situations: String) throws {
        let probe = try SandboxProbe(situations)
        #expect(probe.layers.contains(.threadLimit))
        let reply = try #require(try probe.lines("threads").first)
        let count = try #require(Int(reply[1]))
        // Where the user has other processes, theirs count, too.
        let isAlone = probe.layers.contains(.userNamespace) || !situations.contains("nobody")
        #expect(count >= 32 && count < (isAlone ? 64 : 16_000), "\(count) threads")
        #expect(reply[2] == "\(EAGAIN)")
    }

    @Test(arguments: ["plain", "docker", "docker nobody"] + SandboxProbe.withoutProc)
    func memoryIsLimitedFromOutside(situations: String) throws {
        guard geteuid() == 0 || situations == "plain" else { try Test.cancel("needs root") }
        let probe = try SandboxProbe(situations)
        #expect(probe.limit(memoryByteCount: 64 << 20))
        let small = try #require(try probe.lines("memory").first.flatMap { Int($0[1]) })
        // Besides the memory of an image there is some for threads.
        let processors = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        #expect((64...64 + 72 + min(448, 16 * processors)).contains(small), "\(small) MiB")
        #expect(probe.limit(memoryByteCount: 256 << 20))
        let large = try #require(try probe.lines("memory").first.flatMap { Int($0[1]) })
        #expect((180...200).contains(large), "\(large) MiB more")
    }

    @Test func processorTimeIsLimitedFromOutside() throws {
        let probe = try SandboxProbe()
        #expect(probe.limit(processorSeconds: 0))
        try probe.send("time")
        #expect(try probe.receive() == nil)
        let exit = probe.end(milliseconds: 60_000)
        #expect(exit.is_known && exit.signal == SIGXCPU)
    }

    @Test func limitsAreNeverRaisedAboveThoseOfTheProcess() throws {
        let probe = try SandboxProbe()
        let process = try probe.innerPid()
        let first = try SandboxProbe.contents("/proc/\(process)/limits")
        #expect(probe.limit(memoryByteCount: 64 << 20, processorSeconds: 5))
        let limited = try SandboxProbe.contents("/proc/\(process)/limits")
        #expect(first != limited)
        #expect(probe.limit(memoryByteCount: .max - 1))
        #expect(try SandboxProbe.contents("/proc/\(process)/limits") == first)
    }
}

/// What a process could reach outside of its sandbox.
private final class Outside {
    private let sockets: [Int32]
    private let memory: Int32
    let port: Int
    let key: Int
    let name: String

    init() throws {
        let inet = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutableBytes(of: &address) { bytes in
            let pointer = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            return bind(inet, pointer, length) == 0 && listen(inet, 8) == 0 && getsockname(inet, pointer, &length) == 0
        }
        port = Int(UInt16(bigEndian: address.sin_port))
        name = "webimage-probe-\(getpid())-\(port)"
        let abstract = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var path = sockaddr_un()
        path.sun_family = sa_family_t(AF_UNIX)
        let pathLength = socklen_t(MemoryLayout<sa_family_t>.size + 1 + name.utf8.count)
        let isNamed = withUnsafeMutableBytes(of: &path) { [name] bytes in
            for (index, byte) in name.utf8.enumerated() { bytes[MemoryLayout<sa_family_t>.size + 1 + index] = byte }
            return bind(abstract, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), pathLength) == 0
                && listen(abstract, 8) == 0
        }
        key = Int(0x5757_0000 | Int32(port))
        memory = shmget(key_t(key), 4096, 0o1000 | 0o666)
        sockets = [inet, abstract]
        try #require(isListening && isNamed && memory >= 0)
    }

    deinit {
        for socket in sockets { close(socket) }
        shmctl(memory, IPC_RMID, nil)
    }
}
