import Dispatch
import FoundationEssentials
import WebImageGTK

extension GallerySession {
    /// Moves files to the desktop's trash and out of the collection. A message says so, with a button that brings them back.
    func moveToTrash(_ urls: [URL]) {
        let files = urls.filter(\.isFileURL)
        guard !files.isEmpty else {
            return showToast(
                localized("Only files can be moved to the trash. The inspector removes an image from the cache."))
        }
        fileChanges.run(files) { [self, trash] in
            var (removed, failures): ([Removal], [String]) = ([], [])
            for file in files {
                do throws(Trash.Failure) {
                    let removal = try await DispatchQueue.files.run { _ throws(Trash.Failure) in
                        let (stamp, sidecar) = (FileStamp(of: file), Sidecar(of: file))
                        try trash.remove(file)
                        // Without its photograph it would be of the next one with that name.
                        let hasSidecar = sidecar.exists
                        if hasSidecar { try? trash.remove(sidecar.file) }
                        return Removal(file: file, stamp: stamp, hasSidecar: hasSidecar)
                    }
                    removed.append(removal)
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
        let hasSidecar: Bool
    }

    private func didRemove(_ removed: [Removal], _ failures: [String]) {
        if let failure = failures.first { showToast(failure) }
        guard let first = removed.first else { return }
        let (former, gone) = (collection.all, Set(removed.map(\.file)))
        collection.rearrange(to: former.filter { !gone.contains($0) })
        var left = removed
        let message = counted(
            "{file} is in the trash", "{count} files are in the trash", count: removed.count,
            ["file": first.file.displayName])
        showToast(message, of: removed.map(\.file)) { [weak self] in
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
                    if removal.hasSidecar { try? trash.restore(Sidecar(of: file).file) }
                    return FileStamp(of: file)
                }
                if let former = removal.stamp, let stamp { fileChanges.noteReturn(of: former, as: stamp, at: file) }
                restored.insert(file)
            } catch {
                failures.append((removal, error.description))
            }
        }
        showAgain(restored, in: former) {
            counted(
                "{file} is back from the trash", "{count} files are back from the trash", count: restored.count,
                ["file": $0])
        }
        return failures
    }

    /// Shows files that are back in their places, between those that were beside them.
    ///
    /// - Parameters:
    ///   - former: the images of the collection before the files left.
    ///   - message: what has happened to them, if others were opened since. It has the name of the first file.
    func showAgain(_ restored: Set<URL>, in former: [URL], _ message: (_ name: String) -> String) {
        guard let first = restored.first else { return }
        let current = Set(collection.all)
        guard former.contains(where: current.contains) || current.isEmpty else {
            return showToast(message(first.displayName))
        }
        let known = Set(former)
        collection.rearrange(
            to: former.filter { current.contains($0) || restored.contains($0) }
                + collection.all.filter { !known.contains($0) })
        onReturn(restored)
    }
}
