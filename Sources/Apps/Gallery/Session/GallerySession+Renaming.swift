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
            return showToast("“\(name)” cannot be the name of a file")
        }
        let renamed = URL(file: file.folder + name)
        fileChanges.run([file]) { [self] in
            let (failure, stamps) = await DispatchQueue.files.run { _ in
                let former = FileStamp(of: file)
                let failure = FileMove()(file.filePath, to: renamed.filePath)
                return (failure, (former, FileStamp(of: renamed)))
            }
            if let failure {
                return showToast("\(file.displayName) keeps its name: \(String(cString: strerror(failure)))")
            }
            // Earlier changes are undone in the file with this name.
            if let former = stamps.0, let current = stamps.1 {
                fileChanges.noteReturn(of: former, as: current, at: renamed)
            }
            collection.rearrange(to: collection.urls.map { $0 == file ? renamed : $0 })
        }
    }
}
