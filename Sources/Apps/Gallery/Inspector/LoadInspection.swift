import Dispatch
import FoundationEssentials
import ProgramSupport
import WebImageGTK

/// Everything that the inspector shows about a URL.
struct LoadInspection: Sendable {
    let url: URL
    /// The newest load; `nil` if there was none.
    var record: LoadRecord?
    /// The newest load that contacted a server, which may be older.
    var transfer: (record: LoadRecord, transfer: LoadTransfer)?
    var entry: CacheEntry?
    var file: [FactGroup] = []
    /// The size of the image in its file, in pixels; `nil` while it is unknown.
    var size: PixelSize?

    init(of url: URL, in records: [LoadRecord]) {
        self.url = url
        let records = records.filter { $0.url == url }
        record = records.last
        for record in records.reversed() {
            guard let last = record.transfers.last else { continue }
            transfer = (record, last)
            break
        }
    }

    /// The result of the newest load in one line; `nil` if there was none.
    var summary: String? { record.map { LoadFacts.summary(of: $0, size: size) } }

    var timeline: TraceTimeline? { record.map { TraceTimeline($0.trace, transfers: $0.transfers) } }

    /// The camera's notes. They are shown first: how the image was loaded interests fewer.
    var photograph: FactGroup? { file.first { $0.title == FileFacts.photographTitle } }

    /// The other groups in the order in which they are shown.
    ///
    /// - Parameter now: the date that ages count to.
    func groups(now: Date) -> [FactGroup] {
        var groups = file.filter { $0.title != FileFacts.photographTitle }
        if let record { groups.append(LoadFacts.caches(record)) }
        if let transfer {
            var facts = LoadFacts.transfer(transfer.transfer.metrics)
            if transfer.record.date != record?.date, !facts.isEmpty {
                facts[0].description = localized(
                    "Of an earlier load, {date}", ["date": DateText.text(transfer.record.date, now: now)])
            }
            groups += facts
        }
        if let entry { groups += [entry.group(now: now), entry.headers].compactMap(\.self) }
        return groups
    }

    /// The text for the clipboard.
    func text(now: Date) -> String {
        var parts = [url.locationText] + [photograph?.text].compactMap(\.self)
        if let record {
            parts.append(
                localized(
                    "{summary}, {date}, policy {policy}",
                    [
                        "summary": LoadFacts.summary(of: record, size: size), "date": DateText.text(record.date),
                        "policy": "\(record.policy)",
                    ]))
            parts.append(record.trace.description)
            if let failure = LoadFacts.failure(record.error, attempts: record.attempts) { parts.append(failure.text) }
        }
        return (parts + groups(now: now).map(\.text)).joined(separator: "\n\n") + "\n"
    }

    /// Returns what a load did that the user has requested.
    static func result(of record: LoadRecord) -> String {
        if let error = record.error { return error.sentence(in: texts) }
        let trace = record.trace
        if trace.entries.contains(where: { $0.stage == .validation }) {
            return trace.entries.last { $0.stage == .validation }?.sentence ?? ""
        }
        guard let transfer = record.transfers.last?.metrics else {
            return record.url.isFileURL
                ? localized("Read the file again.") : localized("Served without contacting the server.")
        }
        return localized("Loaded again: {size} on the wire.", ["size": Amount.bytes(transfer.wireByteCount)])
    }
}

/// Reads the original bytes of an image where they are, and what their header tells.
enum OriginalReader {
    /// The properties of a file that its header contains.
    struct Finding: Sendable {
        let groups: [FactGroup]
        /// The size of the image, in pixels; `nil` if the file is no image.
        let size: PixelSize?

        init(_ data: Data) {
            groups = FileFacts.groups(of: data)
            size = try? CodecRegistry.shared.info(of: data, limits: .ownFiles).size
        }
    }

    /// Returns `nil` if the bytes are neither in a file, nor in the URL, nor in the cache.
    static func finding(_ url: URL, _ key: ImageCacheKey, in manager: WebImageManager) async -> Finding? {
        if url.isFileURL {
            guard let data = try? await FileLoader.chosenFiles.bytes(at: url) else { return nil }
            return await DispatchQueue.files.run { _ in Finding(data) }
        }
        let data =
            url.isData
            ? try? await manager.data(for: WebImageRequest(url)).data
            : await manager.configuration.cache.data(for: key.original, in: .disk)?.data
        guard let data else { return nil }
        return await DispatchQueue.files.run { _ in Finding(data) }
    }
}
