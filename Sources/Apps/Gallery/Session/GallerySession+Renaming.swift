import Dispatch
import FoundationEssentials
import Glibc
import ProgramSupport
import WebImageGTK

extension GallerySession {
    /// Gives a file another name in its folder, and in the collection.
    func rename(_ file: URL, to name: String) {
        let name = name.trimmed
        guard name != file.displayName else { return }
        guard !name.isEmpty, !name.contains("/"), name != ".", name != ".." else {
            return showToast(localized("“{name}” cannot be the name of a file", ["name": name]))
        }
        let renamed = URL(file: file.folder + name)
        fileChanges.run([file]) { [self] in
            let (failure, stamps) = await DispatchQueue.files.run { _ in
                let former = FileStamp(of: file)
                let failure = Self.move(file, to: renamed)
                return (failure, (former, FileStamp(of: renamed)))
            }
            if let failure {
                return showToast(
                    localized(
                        "{file} keeps its name: {reason}",
                        ["file": file.displayName, "reason": String(cString: strerror(failure))]))
            }
            // Earlier changes are undone in the file with this name.
            if let former = stamps.0, let current = stamps.1 {
                fileChanges.noteReturn(of: former, as: current, at: renamed)
            }
            collection.rearrange(to: collection.all.map { $0 == file ? renamed : $0 })
        }
    }

    /// Moves a file on its file system with its sidecar, unless one of the places is in use. Blocks the thread.
    ///
    /// - Returns: the error number; `nil` on success.
    nonisolated static func move(_ file: URL, to place: URL) -> Int32? {
        if let failure = FileMove()(file.filePath, to: place.filePath) { return failure }
        guard let failure = Sidecar(of: file).move(to: place) else { return nil }
        // Both or none.
        _ = FileMove()(place.filePath, to: file.filePath)
        return failure
    }
}
