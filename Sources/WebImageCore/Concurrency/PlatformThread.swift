internal import CWebImageSystem
internal import Glibc

/// A detached POSIX thread: Foundation's `Thread` would pull in all of Foundation.
package enum PlatformThread {
    /// Runs `body` on a new thread; `false` when the system has none to give.
    ///
    /// - Parameter name: shown by debuggers and `top -H`; the kernel keeps its first 15 bytes.
    package static func start(name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
        let start = Unmanaged.passRetained(Start(name: name, body: body))
        var thread = pthread_t()
        let status = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
                cwi_set_thread_name(start.name)
                start.body()
                return nil
            }, start.toOpaque())
        guard status == 0 else {
            start.release()
            return false
        }
        pthread_detach(thread)
        return true
    }

    /// Adds to the calling thread's nice value. Linux keeps it per thread, unlike POSIX.
    package static func lowerPriority(by niceness: Int32) {
        // 0 means the caller itself.
        let target = __priority_which_t(PRIO_PROCESS.rawValue)
        setpriority(target, 0, getpriority(target, 0) + niceness)
    }

    private final class Start {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }
}
