import Foundation
import WebImageCore
import WebImageTestSupport

/// Waits until a file is created in a directory.
struct FileAppearance {
    private let happened = Countdown()

    /// Starts to watch the directory.
    init(in directory: String) throws {
        let descriptor = inotify_init1(Int32(IN_CLOEXEC))
        guard descriptor >= 0, inotify_add_watch(descriptor, directory, UInt32(IN_CREATE)) >= 0 else {
            throw ToolError("\(directory) cannot be watched")
        }
        _ = PlatformThread.start(name: "file-appearance") { [happened] in
            var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            if poll(&request, 1, 60_000) == 1 { happened.signal() }
            close(descriptor)
        }
    }

    func wait() async throws { try await happened.wait() }
}
