internal import CWebImageSystem
internal import Glibc

/// A detached POSIX thread. Foundation's `Thread` would pull in all of Foundation.
package enum PlatformThread {
    /// The number of threads that can run at once: the number of processors, at least 1.
    package static var processorCount: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

    /// Runs `body` on a new thread; returns `false` if the system has no thread available.
    ///
    /// - Parameter name: shown by debuggers and `top -H`; the kernel keeps its first 15 bytes.
    package static func start(name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
        // The default of 8 MiB can be too much where address space is scarce; 512 KiB is the size of threads on macOS.
        start(name: name, stackByteCounts: [nil, 512 << 10], body)
    }

    /// Tries the stack sizes in order; `nil` is the system's default.
    static func start(name: String, stackByteCounts: [Int?], _ body: @escaping @Sendable () -> Void) -> Bool {
        let start = Unmanaged.passRetained(Start(name: name, body: body))
        for stackByteCount in stackByteCounts {
            var attributes = pthread_attr_t()
            pthread_attr_init(&attributes)
            defer { pthread_attr_destroy(&attributes) }
            pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
            if let stackByteCount { pthread_attr_setstacksize(&attributes, stackByteCount) }
            var thread = pthread_t()
            let status = pthread_create(
                &thread, &attributes,
                { argument in
                    guard let argument else { return nil }
                    let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
                    cwi_set_thread_name(start.name)
                    start.body()
                    return nil
                }, start.toOpaque())
            if status == 0 { return true }
        }
        start.release()
        return false
    }

    /// Adds to the calling thread's nice value. Linux keeps it per thread, unlike POSIX.
    static func lowerPriority(by niceness: Int32) {
        // 0 means the caller itself.
        let target = __priority_which_t(PRIO_PROCESS.rawValue)
        setpriority(target, 0, getpriority(target, 0) + niceness)
    }

    /// The kernel's number of the calling thread, for tests.
    static var currentID: Int32 { cwi_thread_id() }

    /// Whether the calling thread is the first of the process.
    package static var isMain: Bool { cwi_is_first_thread() }

    private final class Start {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }
}
