import WebImageGTK

/// Counts and bytes of the loads since the last reset.
struct LoadFigures: Encodable {
    private(set) var memory = 0
    private(set) var disk = 0
    private(set) var network = 0
    private(set) var files = 0
    private(set) var failed = 0
    /// The size of the loaded files in bytes. Images from memory count 0.
    private(set) var bytes = 0
    /// The time from the start of the first load to the end of the last.
    private(set) var milliseconds = 0.0

    private var start: ContinuousClock.Instant?

    var loaded: Int { memory + disk + network + files }

    mutating func noteStart(at now: ContinuousClock.Instant = .now) { start = start ?? now }

    /// Uncounts a failed load that is retried.
    mutating func noteRetry() { failed = max(0, failed - 1) }

    /// Counts a finished load. Cancelled loads are not counted.
    mutating func note(
        _ result: Result<WebImageResponse, WebImageError>, at now: ContinuousClock.Instant = .now
    ) {
        switch result {
        case .success(let response):
            bytes += response.data?.count ?? 0
            switch response.origin {
            case .memoryCacheFast, .memoryCache: memory += 1
            case .diskCache: disk += 1
            case .remote where response.url.isFileURL: files += 1
            case .remote, .none: network += 1
            }
        case .failure(.cancelled):
            return
        case .failure:
            failed += 1
        }
        if let start { milliseconds = (now - start) / .milliseconds(1) }
    }

    /// The text of the label, such as `24 loaded: 0 memory, 24 disk, 0 network · 12.3 MiB · 412 ms`.
    var line: String {
        let tenths = (Double(bytes) / 1_048_576 * 10).rounded() / 10
        return "\(loaded) loaded: \(memory) memory, \(disk) disk, \(network) network"
            + (files > 0 ? ", \(files) files" : "") + (failed > 0 ? ", \(failed) failed" : "")
            + " · \(tenths) MiB · \(Int(milliseconds.rounded())) ms"
    }

    enum CodingKeys: CodingKey {
        case loaded, memory, disk, network, files, failed, bytes, milliseconds, line
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(loaded, forKey: .loaded)
        try container.encode(memory, forKey: .memory)
        try container.encode(disk, forKey: .disk)
        try container.encode(network, forKey: .network)
        try container.encode(files, forKey: .files)
        try container.encode(failed, forKey: .failed)
        try container.encode(bytes, forKey: .bytes)
        try container.encode(milliseconds, forKey: .milliseconds)
        try container.encode(line, forKey: .line)
    }
}
