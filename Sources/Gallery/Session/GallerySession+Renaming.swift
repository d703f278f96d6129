import FoundationEssentials
import Glibc
import WebImageGTK

extension GallerySession {
    /// Gives a file another name in its folder, and in the collection.
    func rename(_ file: URL, to name: String) {
        let name = name.trimmed
        guard name != file.lastPathComponent else { return }
        guard !name.isEmpty, !name.contains("/"), name != ".", name != ".." else {
            return showToast("“\(name)” cannot be the name of a file")
        }
        let renamed = file.deletingLastPathComponent().appending(path: name)
        Task {
            let failure = await WorkQueue.files.run { _ in
                FileMove()(file.path(percentEncoded: false), to: renamed.path(percentEncoded: false))
            }
            if let failure {
                return showToast("\(file.displayName) keeps its name: \(String(cString: strerror(failure)))")
            }
            collection.rearrange(to: collection.urls.map { $0 == file ? renamed : $0 })
        }
    }
}
