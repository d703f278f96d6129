import FoundationEssentials
import WebImageGTK

extension GallerySession {
    /// Moves files to the desktop's trash and out of the collection. A message says so, with a button that brings them back.
    func moveToTrash(_ urls: [URL]) {
        let files = urls.filter(\.isFileURL)
        guard !files.isEmpty else {
            return showToast("Only files can be moved to the trash. The inspector removes an image from the cache.")
        }
        Task { [trash] in
            var (removed, failures): ([URL], [String]) = ([], [])
            for file in files {
                do throws(Trash.Failure) {
                    try await WorkQueue.files.run { _ throws(Trash.Failure) in try trash.remove(file) }
                    removed.append(file)
                } catch {
                    failures.append(error.description)
                }
            }
            didRemove(removed, failures)
        }
    }

    private func didRemove(_ removed: [URL], _ failures: [String]) {
        if let failure = failures.first { showToast(failure) }
        guard let first = removed.first else { return }
        let (former, gone) = (collection.urls, Set(removed))
        collection.rearrange(to: former.filter { !gone.contains($0) })
        let subject = removed.count == 1 ? first.displayName : "\(removed.count) files"
        let verb = removed.count == 1 ? "is" : "are"
        showToast(
            "\(subject) \(verb) in the trash",
            ToastButton(title: "_Undo") { [weak self] in self?.restore(removed, in: former) })
    }

    /// Brings files back, to their former places in the collection.
    private func restore(_ files: [URL], in former: [URL]) {
        Task { [trash] in
            var restored: Set<URL> = []
            for file in files {
                do throws(Trash.Failure) {
                    try await WorkQueue.files.run { _ throws(Trash.Failure) in try trash.restore(file) }
                    restored.insert(file)
                } catch {
                    showToast(error.description)
                }
            }
            let current = Set(collection.urls)
            guard former.contains(where: current.contains) || current.isEmpty else { return }
            let known = Set(former)
            collection.rearrange(
                to: former.filter { current.contains($0) || restored.contains($0) }
                    + collection.urls.filter { !known.contains($0) })
        }
    }
}
