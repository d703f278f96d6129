import CIsolationHost
import CWebImageIsolation
import Glibc
import Testing

@testable import WebImageIsolation

/// A process in its sandbox, as the rest of the system sees it. What it says about itself is not asked for.
@Suite(.serialized, .timeLimit(.minutes(2))) struct SandboxSurroundingsTests {
    private func link(_ path: String) -> String? {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = bytes.withUnsafeMutableBytes {
            $0.withMemoryRebound(to: CChar.self) { bytes in
                bytes.baseAddress.map { readlink(path, $0, bytes.count) } ?? -1
            }
        }
        return count < 0 ? nil : String(decoding: bytes[..<count], as: UTF8.self)
    }

    private func entries(_ path: String) -> [String]? {
        guard let directory = opendir(path) else { return nil }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// The lines of `status`, by name.
    private func status(of process: Int) throws -> [String: [String]] {
        let lines = try SandboxProbe.contents("/proc/\(process)/status").split(separator: "\n")
        return lines.reduce(into: [:]) { status, line in
            guard let colon = line.firstIndex(of: ":") else { return }
            status[String(line[..<colon])] = line[line.index(after: colon)...].split { $0 == " " || $0 == "\t" }.map(
                String.init)
        }
    }

    /// The links of such a process are readable with CAP_SYS_PTRACE only.
    @Test(.enabled(if: geteuid() == 0, "needs root"), arguments: ["plain", "nobody", "no-user-namespace"])
    func itHasItsOwnNamespaces(situations: String) throws {
        let probe = try SandboxProbe(situations)
        let process = try probe.innerPid()
        guard link("/proc/\(process)/ns/net") != nil else {
            try Test.cancel("links of other processes cannot be read here")
        }
        let namespaces: [(String, SandboxLayer)] = [
            ("user", .userNamespace), ("net", .networkNamespace), ("ipc", .ipcNamespace), ("pid", .processNamespace),
            ("mnt", .emptyFileSystem),
        ]
        // Where the root cannot be exchanged, the process has a mount namespace nevertheless.
        for (name, layer) in namespaces where layer != .emptyFileSystem || SandboxProbe.rootIsMount {
            let (own, other) = (link("/proc/self/ns/\(name)"), link("/proc/\(process)/ns/\(name)"))
            #expect((own != other) == probe.layers.contains(layer), "\(name) \(situations)")
        }
    }

    @Test(
        .enabled(if: SandboxProbe.rootIsMount, "the kernel does not exchange a root that is a folder"),
        .enabled(if: geteuid() == 0, "needs root"))
    func itsRootIsEmptyAndCannotBeWritten() throws {
        let probe = try SandboxProbe()
        let process = try probe.innerPid()
        #expect(probe.layers.contains(.emptyFileSystem))
        guard let names = entries("/proc/\(process)/root/") else {
            try Test.cancel("the root of other processes cannot be read here")
        }
        #expect(names.isEmpty)
        var (root, folder) = (stat(), stat())
        #expect(stat("/proc/\(process)/root/", &root) == 0 && stat("/proc/\(process)/cwd/", &folder) == 0)
        #expect(root.st_dev == folder.st_dev && root.st_ino == folder.st_ino)
        #expect(mkdir("/proc/\(process)/root/folder", 0o700) != 0)
        let mounts = try SandboxProbe.contents("/proc/\(process)/mounts").split(separator: "\n")
        #expect(mounts.count == 1 && mounts[0].contains(" / tmpfs ro,nosuid,nodev,noexec"), "\(mounts)")
    }

    @Test(arguments: ["plain", "groups docker", "nobody flatpak"]) func itHasNoPrivileges(situations: String) throws {
        guard geteuid() == 0 || situations == "plain" else { try Test.cancel("needs root") }
        let probe = try SandboxProbe(situations)
        // The supervisor drops its privileges before it does anything for the program.
        #expect(probe.limit(memoryByteCount: 1 << 20))
        for process in [try probe.innerPid(), Int(probe.process.pid)] {
            let status = try status(of: process)
            for name in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
                #expect(status[name] == ["0000000000000000"], "\(name) of \(process)")
            }
            #expect(status["NoNewPrivs"] == ["1"])
            if geteuid() == 0 {
                let user = situations.contains("nobody") ? 65534 : 0x7000_0000 + Int(probe.process.pid)
                #expect(status["Uid"] == Array(repeating: "\(user)", count: 4))
                #expect(status["Gid"] == Array(repeating: "\(user)", count: 4))
                #expect(status["Groups"] == [])
            }
        }
        let status = try status(of: try probe.innerPid())
        #expect(status["CapBnd"] == ["0000000000000000"] || situations.contains("nobody"))
        #expect(status["Seccomp"] == ["2"])
        #expect(status["Threads"] == ["1"])
        #expect((status["NSpid"]?.last == "1") == probe.layers.contains(.processNamespace))
    }

    @Test(arguments: ["plain", "docker"] + SandboxProbe.withoutProc) func itsResourcesAreLimited(situations: String)
        throws
    {
        guard geteuid() == 0 || situations == "plain" else { try Test.cancel("needs root") }
        let probe = try SandboxProbe(situations)
        let lines = try SandboxProbe.contents("/proc/\(try probe.innerPid())/limits").split(separator: "\n").dropFirst()
        let limits: [String: [Int]] = lines.reduce(into: [:]) { limits, line in
            let name = String(line.prefix(26)).split(separator: " ").joined(separator: " ")
            limits[name] = line.dropFirst(26).split(separator: " ").prefix(2).map { Int($0) ?? .max }
        }
        for name in ["Max core file size", "Max file size", "Max locked memory", "Max msgqueue size"] {
            #expect(limits[name] == [0, 0], "\(name)")
        }
        #expect(limits["Max cpu time"] == [600, 600])
        #expect(limits["Max processes"] == [64, 64])
        // The probe has 8 of its own.
        #expect(try #require(limits["Max open files"]).allSatisfy { (8...64).contains($0) })
        // Twice 1 GiB for an image, some for threads, and what the process had before.
        for name in ["Max data size", "Max address space"] {
            #expect(try #require(limits[name]).allSatisfy { (2 << 30...3 << 30).contains($0) }, "\(name): \(limits)")
        }
    }

    /// The kernel ends it before the program where memory runs out.
    @Test func itIsEndedFirst() throws {
        let probe = try SandboxProbe()
        for process in [try probe.innerPid(), Int(probe.process.pid)] {
            #expect(try SandboxProbe.contents("/proc/\(process)/oom_score_adj") == "1000\n")
        }
    }

    @Test func itHasOnlyWhatItWasGiven() throws {
        let leak = open("/dev/null", O_RDONLY)
        let handler = signal(SIGUSR2, SIG_IGN)
        var (blocked, mask) = (sigset_t(), sigset_t())
        sigemptyset(&blocked)
        sigaddset(&blocked, SIGUSR1)
        pthread_sigmask(SIG_BLOCK, &blocked, &mask)
        defer {
            close(leak)
            signal(SIGUSR2, handler)
            pthread_sigmask(SIG_SETMASK, &mask, nil)
        }
        #expect(fcntl(leak, F_GETFD) == 0, "it would be inherited")
        let probe = try SandboxProbe()
        #expect(probe.inheritance["descriptors"] == ["0", "1", "2", "3", "4"])
        #expect(probe.inheritance["environment"] == [])
        #expect(probe.inheritance["writable"] == [])
        #expect(probe.inheritance["signals"] == [])
        #expect(probe.inheritance["group"] == ["own"])
    }

    @Test(.enabled(if: geteuid() == 0, "needs root")) func theSupervisorHoldsOnlyItsControl() throws {
        let probe = try SandboxProbe()
        #expect(probe.limit(memoryByteCount: 1 << 20))
        guard let supervisor = entries("/proc/\(probe.process.pid)/fd"),
            let inner = entries("/proc/\(try probe.innerPid())/fd")
        else {
            try Test.cancel("descriptors of other processes cannot be read here")
        }
        #expect(supervisor == ["4"])
        // The last four are the probe's own.
        #expect(inner == ["0", "1", "2", "3", "5", "6", "7", "8"])
    }

    // MARK: Supervision

    /// Waits for the end of a process.
    private func hasEnded(_ descriptor: Int32, milliseconds: Int32 = 10_000) -> Bool {
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&waiting, 1, milliseconds) == 1
    }

    @Test(arguments: ["plain", "no-new-namespaces", "nobody no-new-namespaces"])
    func itEndsWithTheProgram(situations: String) throws {
        guard geteuid() == 0 || situations == "plain" else { try Test.cancel("needs root") }
        let path = try #require(IsolatedDecoding.Configuration(decoder: "SandboxProbe").path)
        let stream = try #require(popen("exec \(path) --program \"\(situations)\"", "re"))
        defer { pclose(stream) }
        var buffer = [CChar](repeating: 0, count: 64)
        try #require(fgets(&buffer, Int32(buffer.count), stream) != nil)
        let numbers = String(decoding: buffer.prefix { $0 != 0 && $0 != 10 }.map { UInt8($0) }, as: UTF8.self)
            .split(separator: " ").compactMap { Int32($0) }
        let (program, supervisor) = (numbers[0], numbers[1])
        let inner = try #require(
            Int32(try SandboxProbe.contents("/proc/\(supervisor)/task/\(supervisor)/children").split(separator: " ")[0])
        )
        let processes = [supervisor, inner].map(host_open_process)
        defer { for process in processes { close(process) } }
        // The thread that started it has ended, and it ignores its channel.
        #expect(processes.allSatisfy { !hasEnded($0, milliseconds: 0) })
        kill(program, SIGKILL)
        for process in processes { #expect(hasEnded(process)) }
    }

    @Test(arguments: ["plain", "no-new-namespaces"]) func itEndsWithItsSupervisor(situations: String) throws {
        guard geteuid() == 0 || situations == "plain" else { try Test.cancel("needs root") }
        let probe = try SandboxProbe(situations)
        _ = try probe.lines("ignore")
        let inner = host_open_process(Int32(try probe.innerPid()))
        defer { close(inner) }
        #expect(!hasEnded(inner, milliseconds: 0))
        kill(probe.process.pid, SIGKILL)
        #expect(hasEnded(inner))
    }

    @Test(arguments: ["plain", "no-new-namespaces"], ["crash", "crash slowly"])
    func theSupervisorEndsAsTheProcessDoes(situations: String, command: String) throws {
        guard geteuid() == 0 || situations == "plain" else { try Test.cancel("needs root") }
        let probe = try SandboxProbe(situations)
        try probe.send(command)
        #expect(try probe.receive() == nil)
        let exit = probe.end(milliseconds: 60_000)
        #expect(exit.is_known && exit.signal == SIGSEGV)
    }

    @Test(arguments: ["plain", "docker", "nobody flatpak"]) func itsPriorityIsLowered(situations: String) throws {
        guard geteuid() == 0 || situations == "plain" else { try Test.cancel("needs root") }
        let probe = try SandboxProbe(situations)
        _ = try probe.lines("threads")
        let process = try probe.innerPid()
        let target = __priority_which_t(PRIO_PROCESS.rawValue)
        #expect(probe.limit(memoryByteCount: 2 << 20))
        #expect(getpriority(target, id_t(process)) == getpriority(target, 0))
        probe.lowerPriority()
        // The supervisor does one thing after the other.
        #expect(probe.limit(memoryByteCount: 1 << 20))
        let threads = try #require(entries("/proc/\(process)/task"))
        #expect(threads.count > 32)
        #expect(threads.allSatisfy { getpriority(target, id_t($0) ?? 0) == 19 })
        // SCHED_IDLE: a waking thread of another process need not wait for the end of a slice.
        #expect(threads.allSatisfy { sched_getscheduler(pid_t($0) ?? 0) == 5 })
        #expect(getpriority(target, id_t(probe.process.pid)) == getpriority(target, 0))
    }
}

/// Memory and messages that a program and its decoder processes share.
@Suite(.timeLimit(.minutes(3))) struct SharedDescriptorTests {
    @Test func memoryIsSealedForGood() throws {
        let memory = cwi_memory_create(4096)
        defer { close(memory) }
        let (shrink, grow, seal, futureWrite) = (Int32(2), Int32(4), Int32(1), Int32(16))
        #expect(host_seals(memory) == shrink | grow | seal)
        #expect(host_seal(memory, futureWrite) == EPERM)
        #expect(ftruncate(memory, 0) != 0 && ftruncate(memory, 8192) != 0)
        #expect(cwi_memory_write(memory, "x", 1) == 0)
        #expect(cwi_memory_fixed_length(memory) == 4096)
        let constant = cwi_memory_create_constant("x", 1)
        defer { close(constant) }
        #expect(host_seals(constant) == shrink | grow | seal | 8)
        #expect(cwi_memory_write(constant, "y", 1) != 0)
    }

    @Test(arguments: [0, 2, 4, 6]) func memoryThatCanBeSealedOrResizedIsRefused(seals: Int32) throws {
        let memory = host_create_memory()
        try #require(memory >= 0 && ftruncate(memory, 4096) == 0)
        defer { close(memory) }
        #expect(host_seal(memory, seals) == 0)
        #expect(cwi_memory_fixed_length(memory) == -1)
    }

    @Test(arguments: [1, 2, 3, 5, 16, 17, 40]) func surplusDescriptorsOfAMessageAreClosed(count: Int) throws {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        defer { for end in ends { close(end) } }
        // Other tests may open files meanwhile, but not this one.
        let memory = cwi_memory_create(4096)
        defer { close(memory) }
        func copies() -> Int { (0..<1024).count { $0 != memory && cwi_inode($0) == cwi_inode(memory) } }
        #expect(host_send_descriptors(ends[0], memory, Int32(count)) == 0)
        var bytes = [UInt8](repeating: 0, count: 16)
        var (length, received) = (0, 0)
        var descriptors = [Int32](repeating: -1, count: 2)
        let status = cwi_channel_receive(ends[1], &bytes, bytes.count, &length, &descriptors, &received, 10_000)
        if count <= 2 {
            #expect(status == CWI_CHANNEL_OK && received == count && copies() == count)
            for descriptor in descriptors.prefix(received) { close(descriptor) }
        } else {
            #expect(status == CWI_CHANNEL_FAILED && received == 0)
        }
        #expect(copies() == 0)
    }
}
