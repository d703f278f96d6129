import Dispatch
import FoundationEssentials
import Glibc
import ProgramSupport
import WebImageGTK

extension GallerySession {
    /// Copies or moves files into a folder, and says so with a button that takes it back. Files that are there stay.
    func place(_ urls: [URL], into folder: SystemString, _ kind: FilePlacing.Kind) {
        let (files, folder) = (urls.filter(\.isFileURL), folder.withoutSlashAtEnd)
        guard !files.isEmpty else {
            return showToast(localized("Only files can be copied and moved. Save a copy instead."))
        }
        settings.noteTarget(folder)
        fileChanges.run(files) { [self] in
            var (placed, failures): ([Placed], [String]) = ([], [])
            for file in files {
                do throws(FilePlacing.Failure) {
                    placed.append(
                        try await DispatchQueue.files.run { _ throws(FilePlacing.Failure) in
                            let former = FileStamp(of: file)
                            let place = try FilePlacing(kind: kind).place(file, into: folder)
                            return Placed(
                                file: file, place: place, former: former, current: FileStamp(of: place),
                                sidecar: FileStamp(of: Sidecar(of: place).file))
                        })
                } catch {
                    failures.append(error.description)
                }
            }
            didPlace(placed, in: folder, kind, failures)
        }
    }

    /// A file in a folder, and where it was.
    private struct Placed: Sendable {
        let file, place: URL
        let former, current: FileStamp?
        /// That of the sidecar at the place.
        let sidecar: FileStamp?
    }

    private func didPlace(
        _ placed: [Placed], in folder: SystemString, _ kind: FilePlacing.Kind, _ failures: [String]
    ) {
        if let failure = failures.first { showToast(failure) }
        guard let first = placed.first else { return }
        let former = collection.all
        if kind == .move {
            for item in placed {
                if let old = item.former, let new = item.current {
                    fileChanges.noteReturn(of: old, as: new, at: item.place)
                }
            }
            let gone = Set(placed.map(\.file))
            // Those in a folder that is open, too, come back as its files.
            collection.rearrange(to: former.filter { !gone.contains($0) })
        }
        var left = placed
        showToast(
            Self.message(placed, first, folder.fileName.description, kind),
            of: placed.flatMap { [$0.file, $0.place] }
        ) { [weak self] in
            guard let self else { return nil }
            let failures = await takeBack(left, kind, former)
            left = failures.map(\.item)
            return failures.first?.reason
        }
    }

    private static func message(
        _ placed: [Placed], _ first: Placed, _ folder: String, _ kind: FilePlacing.Kind
    ) -> String {
        let values = ["file": first.file.displayName, "folder": folder, "name": first.place.displayName]
        let isRenamed = placed.count == 1 && first.place.fileName != first.file.fileName
        return switch (kind, isRenamed) {
        case (.copy, true): localized("{file} is copied to {folder} as {name}", values)
        case (.move, true): localized("{file} is moved to {folder} as {name}", values)
        case (.copy, false):
            counted(
                "{file} is copied to {folder}", "{count} files are copied to {folder}", count: placed.count, values)
        case (.move, false):
            counted("{file} is moved to {folder}", "{count} files are moved to {folder}", count: placed.count, values)
        }
    }

    /// Moves files back, or removes their copies. Returns what stays, but can be tried again.
    private func takeBack(
        _ placed: [Placed], _ kind: FilePlacing.Kind, _ former: [URL]
    ) async -> [(item: Placed, reason: String)] {
        var (restored, failures): (Set<URL>, [(item: Placed, reason: String)]) = ([], [])
        for item in placed {
            let (failure, stamp) = await DispatchQueue.files.run { _ in
                (kind == .copy ? Self.removeCopy(item) : Self.moveBack(item), FileStamp(of: item.file))
            }
            if let failure {
                failures.append((item, "\(item.place.displayName): \(failure)"))
            } else if kind == .move {
                if let old = item.current, let stamp { fileChanges.noteReturn(of: old, as: stamp, at: item.file) }
                restored.insert(item.file)
            }
        }
        if kind == .move {
            let back = Set(placed.map(\.place)).subtracting(failures.map(\.item.place))
            collection.rearrange(to: collection.all.filter { !back.contains($0) })
            showAgain(restored, in: former) {
                counted(
                    "{file} is back in the former folder", "{count} files are back in the former folder",
                    count: restored.count, ["file": $0])
            }
        } else {
            let left = Set(failures.map(\.item.place))
            let gone = Set(placed.map(\.place)).subtracting(left)
            collection.rearrange(to: collection.all.filter { !gone.contains($0) })
        }
        return failures
    }

    /// Returns why a copy stays; `nil` if it is gone.
    private nonisolated static func removeCopy(_ item: Placed) -> String? {
        let sidecar = Sidecar(of: item.place).file
        guard FileStamp(of: item.place) == item.current, FileStamp(of: sidecar) == item.sidecar else {
            return item.current != nil && FileStamp(of: item.place) == nil
                ? nil : localized("The copy has changed since.")
        }
        guard item.place.filePath.withCString({ unlink($0) }) == 0 else { return String(cString: strerror(errno)) }
        _ = sidecar.filePath.withCString { unlink($0) }
        return nil
    }

    private nonisolated static func moveBack(_ item: Placed) -> String? {
        // At its former name, which another file may have now.
        guard FileStamp(of: item.file) == nil, FileStamp(of: Sidecar(of: item.file).file) == nil else {
            return String(cString: strerror(EEXIST))
        }
        do throws(FilePlacing.Failure) {
            let folder = item.file.folder.withoutSlashAtEnd
            _ = try FilePlacing(kind: .move).place(item.place, into: folder, named: item.file.fileName)
            return nil
        } catch {
            return error.description
        }
    }
}
