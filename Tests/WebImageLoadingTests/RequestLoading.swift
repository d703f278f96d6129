import FoundationEssentials
import WebImageCore
import WebImageLoading

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
