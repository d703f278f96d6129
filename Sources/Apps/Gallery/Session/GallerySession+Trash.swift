import Dispatch
import FoundationEssentials
import WebImageGTK

extension GallerySession {
    /// Moves files to the desktop's trash and out of the collection. A message says so, with a button that brings them back.
    func moveToTrash(_ urls: [URL]) {
        let files = urls.filter(\.isFileURL)
        guard !files.isEmpty else {
            return showToast("Only files can be moved to the trash. The inspector removes an image from the cache.")
        }
        fileChanges.run(files) { [self, trash] in
            var (removed, failures): ([Removal], [String]) = ([], [])
            for file in files {
                do throws(Trash.Failure) {
                    let stamp = try await DispatchQueue.files.run { _ throws(Trash.Failure) in
                        let stamp = FileStamp(of: file)
                        try trash.remove(file)
                        return stamp
                    }
                    removed.append(Removal(file: file, stamp: stamp))
                } catch {
                    failures.append(error.description)
                }
            }
            didRemove(removed, failures)
        }
    }

    /// A file that is in the trash, and what it was like before.
    private struct Removal: Sendable {
        let file: URL
        let stamp: FileStamp?
    }

    private func didRemove(_ removed: [Removal], _ failures: [String]) {
        if let failure = failures.first { showToast(failure) }
        guard let first = removed.first else { return }
        let (former, gone) = (collection.urls, Set(removed.map(\.file)))
        collection.rearrange(to: former.filter { !gone.contains($0) })
        let subject = removed.count == 1 ? first.file.displayName : "\(removed.count) files"
        let verb = removed.count == 1 ? "is" : "are"
        var left = removed
        showToast("\(subject) \(verb) in the trash", of: removed.map(\.file)) { [weak self] in
            guard let self else { return nil }
            let failures = await restore(left, in: former)
            left = failures.map(\.removal)
            return failures.first?.reason
        }
    }

    /// Brings files back, to their former places in the collection. Returns those that stay in the trash.
    private func restore(_ removed: [Removal], in former: [URL]) async -> [(removal: Removal, reason: String)] {
        var (restored, failures): (Set<URL>, [(removal: Removal, reason: String)]) = ([], [])
        for removal in removed {
            let file = removal.file
            do throws(Trash.Failure) {
                let stamp = try await DispatchQueue.files.run { [trash] _ throws(Trash.Failure) in
                    try trash.restore(file)
                    return FileStamp(of: file)
                }
                if let former = removal.stamp, let stamp { fileChanges.noteReturn(of: former, as: stamp, at: file) }
                restored.insert(file)
            } catch {
                failures.append((removal, error.description))
            }
        }
        let current = Set(collection.urls)
        guard former.contains(where: current.contains) || current.isEmpty else {
            // Others were opened since.
            guard let first = restored.first else { return failures }
            let subject = restored.count == 1 ? "\(first.displayName) is" : "\(restored.count) files are"
            showToast("\(subject) back from the trash")
            return failures
        }
        let known = Set(former)
        collection.rearrange(
            to: former.filter { current.contains($0) || restored.contains($0) }
                + collection.urls.filter { !known.contains($0) })
        if !restored.isEmpty { onReturn(restored) }
        return failures
    }
}
