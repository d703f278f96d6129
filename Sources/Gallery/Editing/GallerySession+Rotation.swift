import FoundationEssentials
import Glibc
import WebImageGTK

extension GallerySession {
    /// Rotates the images of files without loss, and says so with a button that brings the former files back.
    ///
    /// - Parameter quarters: the quarter turns, clockwise.
    func rotateFiles(_ urls: [URL], by quarters: Int) {
        let files = urls.filter(\.isFileURL)
        guard !files.isEmpty else { return showToast("Only files can be rotated. Save a copy instead.") }
        Task {
            var (changes, failures): ([FileChange], [String]) = ([], [])
            for file in files {
                do throws(PhotoRotation.Refusal) {
                    let change = try await WorkQueue.files.run { _ throws(PhotoRotation.Refusal) in
                        try FileChange.rotating(file, by: quarters)
                    }
                    changes.append(change)
                } catch {
                    failures.append("\(file.displayName): \(error)")
                }
            }
            await contentDidChange(of: changes.map(\.file))
            if let failure = failures.first { showToast(failure) }
            guard let first = changes.first else { return }
            showToast(
                changes.count == 1 ? "\(first.file.displayName) is rotated" : "\(changes.count) files are rotated",
                ToastButton(title: "_Undo") { [weak self, changes] in self?.undo(changes) })
        }
    }

    private func undo(_ changes: [FileChange]) {
        Task {
            for change in changes {
                if let failure = await WorkQueue.files.run({ _ in change.undo() }) {
                    showToast("\(change.file.displayName): \(failure)")
                }
            }
            await contentDidChange(of: changes.map(\.file))
        }
    }

    /// Shows files anew whose content the program has changed.
    private func contentDidChange(of files: [URL]) async {
        for file in files { await removeImages(of: file) }
        collection.noteContent(of: Set(files))
    }
}

/// A file whose content was replaced, with what it was.
private struct FileChange: Sendable {
    let file: URL
    let former: Data
    let current: FileReplacement

    /// Rotates the image of a file. Blocks the thread.
    static func rotating(_ file: URL, by quarters: Int) throws(PhotoRotation.Refusal) -> FileChange {
        guard let place = FileReplacement(of: file) else { throw .init(description: String(cString: strerror(errno))) }
        let former: Data
        do throws(WebImageError) { former = try Data(contentsOfFile: place.path) } catch {
            throw .init(description: error.userDescription)
        }
        let rotated = try PhotoRotation.rotated(former, by: quarters)
        guard place.isCurrent else { throw .init(description: "Another program is changing the file.") }
        if let failure = place.write(rotated) { throw .init(description: String(cString: strerror(failure))) }
        guard let current = FileReplacement(of: file) else {
            throw .init(description: String(cString: strerror(errno)))
        }
        return FileChange(file: file, former: former, current: current)
    }

    /// Brings the former content back. Returns what is wrong.
    func undo() -> String? {
        guard current.isCurrent else { return "The file has changed since." }
        return current.write(former).map { String(cString: strerror($0)) }
    }
}
