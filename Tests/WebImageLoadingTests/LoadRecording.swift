import FoundationEssentials
import Glibc
import WebImageCore
import WebImageLoading
import WebImageTestSupport

/// Records the events of a load, and lets a test wait for the end.
final class LoadRecording: Sendable {
    private struct State {
        var responses: [LoaderResponse] = []
        var body = Data()
        var metrics: [LoaderMetrics] = []
        var refused: [LoaderResponse] = []
        var results: [Result<Void, WebImageError>] = []
        var isInOrder = true
    }

    private let state = LockBox(State())
    private let ended = Countdown()
    private let firstBytes = Countdown()
    private let responded = Countdown()

    func receive(_ event: LoaderEvent) {
        state.withLock { state in
            if !state.results.isEmpty { state.isInOrder = false }
            switch event {
            case .response(let response): state.responses.append(response)
            case .bytes(let bytes):
                if state.responses.isEmpty { state.isInOrder = false }
                state.body.append(bytes)
            case .refused(let response):
                if !state.metrics.isEmpty { state.isInOrder = false }
                state.refused.append(response)
            case .report(.metrics(let metrics)): state.metrics.append(metrics)
            case .report: break
            case .finished(let result): state.results.append(result)
            }
        }
        switch event {
        case .bytes: firstBytes.signal()
        case .finished: ended.signal()
        case .response: responded.signal()
        case .report, .refused: break
        }
    }

    /// Waits for the end, then gives the body or throws the error.
    @discardableResult
    func body() async throws -> Data {
        try await ended.wait()
        return try state.withLock { state in
            try state.results.first?.get()
            return state.body
        }
    }

    /// Waits for the end; `nil` when it was a success.
    func error() async throws -> WebImageError? {
        do {
            try await body()
            return nil
        } catch let error as WebImageError {
            return error
        }
    }

    func waitForResponse() async throws { try await responded.wait() }

    /// How many bytes have come so far.
    var byteCount: Int { state.withLock { $0.body.count } }

    /// The events so far.
    var bytes: Data { state.withLock { $0.body } }

    func waitForFirstBytes() async throws { try await firstBytes.wait() }

    /// Those reported right before the end.
    var metrics: LoaderMetrics? { state.withLock { $0.metrics.last } }

    /// The head of the answer that was refused for its status.
    var refused: LoaderResponse? { state.withLock { $0.refused.last } }

    var response: LoaderResponse? { state.withLock { $0.responses.last } }

    /// One response at most, bytes after it, one end after everything.
    var isInOrder: Bool {
        state.withLock { $0.isInOrder && $0.responses.count <= 1 && $0.refused.count <= 1 && $0.results.count == 1 }
    }
}

extension ImageLoader {
    /// Loads `url`, recording what is reported.
    func record(
        _ url: URL, headers: [String: String] = [:], priority: LoadPriority = .normal
    ) -> (recording: LoadRecording, task: any LoaderTask) {
        let recording = LoadRecording()
        let task = load(LoaderRequest(url: url, headers: headers), priority: priority) { recording.receive($0) }
        return (recording, task)
    }

    /// Loads `url` and waits for its body.
    func body(_ url: URL, headers: [String: String] = [:]) async throws -> Data {
        try await record(url, headers: headers).recording.body()
    }

    /// Loads `url` and waits for its error; `nil` when it succeeds.
    func error(_ url: URL, headers: [String: String] = [:]) async throws -> WebImageError? {
        let recording = record(url, headers: headers).recording
        let error = try await recording.error()
        return recording.isInOrder ? error : .invalidURL("events out of order")
    }
}

extension ImageDownloader {
    /// One for tests: straight to 127.0.0.1, with limits that are reached soon.
    static func forTests(_ change: (inout Configuration) -> Void = { _ in }) -> ImageDownloader {
        var configuration = Configuration()
        configuration.proxy = .none
        change(&configuration)
        return ImageDownloader(configuration: configuration)
    }
}

extension ImageLoader {
    func record(_ request: LoaderRequest) -> (recording: LoadRecording, task: any LoaderTask) {
        let recording = LoadRecording()
        return (recording, load(request, priority: .normal) { recording.receive($0) })
    }

    func body(_ request: LoaderRequest) async throws -> Data { try await record(request).recording.body() }

    func error(_ request: LoaderRequest) async throws -> WebImageError? {
        let recording = record(request).recording
        let error = try await recording.error()
        return recording.isInOrder ? error : .invalidURL("events out of order")
    }

    /// The headers that the fault server's `/echo` saw.
    func echo(_ request: LoaderRequest) async throws -> [String: String] {
        try JSONDecoder().decode([String: String].self, from: try await body(request))
    }
}

/// Blocks a loader's thread until the test opens the gate.
final class ThreadGate: @unchecked Sendable {
    // `@unchecked`: a POSIX semaphore is made to be shared; its memory stays put until the end.
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() { sem_init(semaphore, 0, 0) }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    /// Waits until it is open, then leaves it so.
    func wait() {
        sem_wait(semaphore)
        sem_post(semaphore)
    }

    func open() { sem_post(semaphore) }
}

/// The resident memory of the process, in bytes.
func residentByteCount() -> Int {
    let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    return pages * Int(getpagesize())
}

/// Makes a file of zeros that takes no space on the disk.
func makeSparseFile(_ path: String, byteCount: Int) -> Bool {
    let descriptor = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return ftruncate(descriptor, off_t(byteCount)) == 0
}

/// The servers that all tests of this target share; each test uses paths of its own.
enum SharedServers {
    /// With `small.png` and `large.png`, which have the lengths of images, but other content.
    static let nginx = Result {
        let server = try NGINXServer()
        try server.write(FaultServer.pattern(5_000), to: "small.png")
        try server.write(FaultServer.pattern(2_000_000), to: "large.png")
        return server
    }

    static let faults = Result { try FaultServer() }
}
