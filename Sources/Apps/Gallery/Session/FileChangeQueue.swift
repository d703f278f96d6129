import Dispatch
import FoundationEssentials
import WebImageGTK

/// Changes, removes and restores files, one change after the other, in the order of the user's commands.
@MainActor final class FileChangeQueue {
    private var last: Task<Void, Never>?
    /// How many changes of each file have not ended.
    private var counts: [URL: Int] = [:]
    private var stamps: [URL: FileStamp] = [:]
    /// The current stamps of files whose former content came back, or that have another name, by their stamps before with
    /// that content.
    private var returned: [FileStamp: FileStamp] = [:]
    /// Where those files are.
    private var places: [FileStamp: URL] = [:]

    /// Whether a change of the file waits or is in progress.
    func contains(_ file: URL) -> Bool { counts[file] != nil }

    /// Calls `body` after the changes before.
    func run(_ files: [URL], _ body: @escaping @MainActor () async -> Void) {
        for file in files { counts[file, default: 0] += 1 }
        last = Task { [former = last] in
            await former?.value
            await body()
            for file in files { counts[file] = counts[file].flatMap { $0 > 1 ? $0 - 1 : nil } }
        }
    }

    /// Notes what the program has written, which is shown already when a folder's watch reports it.
    func noteContent(of file: URL, _ stamp: FileStamp) { stamps[file] = stamp }

    /// Notes that a content has come back to its file, or that the file has another name, which changes its stamp, too.
    func noteReturn(of former: FileStamp, as current: FileStamp, at file: URL) {
        (returned[former], places[current]) = (current, file)
    }

    /// Returns where a file is, and what it is like, that has the content again that it had with a stamp, unless another
    /// program has changed it.
    func place(of file: URL, afterReturnOf former: FileStamp) -> (file: URL, stamp: FileStamp) {
        var (stamp, known) = (former, Set([former]))
        while let next = returned[stamp], known.insert(next).inserted { stamp = next }
        return (places[stamp] ?? file, stamp)
    }

    /// Returns the files whose content is not what the program has written last.
    func changedByOthers(_ files: Set<URL>) async -> Set<URL> {
        let own = stamps.filter { files.contains($0.key) }
        guard !own.isEmpty else { return files }
        return await DispatchQueue.files.run { _ in
            files.filter { file in own[file].map { $0 != FileStamp(of: file) } ?? true }
        }
    }
}
