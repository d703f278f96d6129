import Dispatch
import FoundationEssentials
import Glibc
import WebImageGTK

extension GallerySession {
    /// Rotates the images of files without loss, and says so with a button that brings the former files back. Rotations of the same file
    /// follow each other.
    ///
    /// - Parameter quarters: the quarter turns, clockwise.
    func rotateFiles(_ urls: [URL], by quarters: Int) {
        let files = urls.filter(\.isFileURL)
        guard !files.isEmpty else { return showToast(localized("Only files can be rotated. Save a copy instead.")) }
        fileChanges.run(files) { await self.rotate(files, by: quarters) }
    }

    private func rotate(_ files: [URL], by quarters: Int) async {
        let formerFiles: FormerFiles
        do throws(SystemError) {
            formerFiles = try await DispatchQueue.files.run { _ throws(SystemError) in try FormerFiles() }
        } catch {
            return showToast(localized("No space for Undo: {error}", ["error": error]))
        }
        var (changes, failures): ([FileChange], [String]) = ([], [])
        for file in files {
            do throws(PhotoRotation.Refusal) {
                let change = try await DispatchQueue.files.run { _ throws(PhotoRotation.Refusal) in
                    try FileChange.rotating(file, by: quarters, keeping: formerFiles)
                }
                fileChanges.noteContent(of: file, change.current)
                changes.append(change)
            } catch {
                failures.append("\(file.displayName): \(error)")
            }
        }
        await contentDidChange(of: changes.map(\.file))
        if let failure = failures.first { showToast(failure) }
        guard let first = changes.first else { return }
        var left = changes
        showToast(
            counted(
                "{file} is rotated", "{count} files are rotated", count: changes.count, ["file": first.file.displayName]
            ),
            of: changes.map(\.file), keeping: changes.reduce(0) { $0 + $1.former.count }
        ) { [weak self] in
            guard let self else { return nil }
            let failures = await undo(left)
            left = failures.map(\.change)
            return failures.first?.reason
        }
    }

    /// Brings former contents back. Returns the changes that stay, but can be taken back later.
    private func undo(_ changes: [FileChange]) async -> [(change: FileChange, reason: String)] {
        var (files, failures): ([URL], [(change: FileChange, reason: String)]) = ([], [])
        for change in changes {
            let (file, expected) = fileChanges.place(of: change.file, afterReturnOf: change.current)
            do throws(PhotoRotation.Refusal) {
                let stamp = try await DispatchQueue.files.run { _ throws(PhotoRotation.Refusal) in
                    try change.undo(expected, in: file)
                }
                fileChanges.noteContent(of: file, stamp)
                fileChanges.noteReturn(of: change.original, as: stamp, at: file)
                files.append(file)
            } catch {
                let reason = "\(file.displayName): \(error)"
                if error.isFinal { showToast(reason) } else { failures.append((change, reason)) }
            }
        }
        await contentDidChange(of: files)
        return failures
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
    let formerFiles: FormerFiles
    /// The place of the former content.
    let former: Range<Int>
    /// The states of the file before and after the change.
    let original, current: FileStamp

    /// Rotates the image of a file. Blocks the thread.
    static func rotating(
        _ file: URL, by quarters: Int, keeping formerFiles: FormerFiles
    ) throws(PhotoRotation.Refusal) -> FileChange {
        let place: FileReplacement
        do throws(FileReplacement.Failure) { place = try FileReplacement(of: file) } catch {
            throw .init(description: error.description)
        }
        let former: Data
        do throws(WebImageError) { former = try LocalFile.content(place.path) } catch {
            throw .init(description: error.userDescription)
        }
        let rotated = try PhotoRotation.rotated(former, by: quarters)
        let range: Range<Int>
        do throws(SystemError) { range = try formerFiles.add(former) } catch {
            throw .init(description: localized("No space for Undo: {error}", ["error": error]))
        }
        return FileChange(
            file: file, formerFiles: formerFiles, former: range, original: place.stamp,
            current: try replace(place, with: rotated, file))
    }

    /// Brings the former content back, and returns the file's stamp. Blocks the thread.
    ///
    /// - Parameters:
    ///   - expected: what the file is like if only the program has changed it.
    ///   - file: where it is now.
    func undo(_ expected: FileStamp, in file: URL) throws(PhotoRotation.Refusal) -> FileStamp {
        let place: FileReplacement
        do throws(FileReplacement.Failure) { place = try FileReplacement(of: file) } catch {
            throw .init(description: error.description)
        }
        guard place.stamp == expected else {
            throw .init(description: localized("The file has changed since. Rotate it back instead."), isFinal: true)
        }
        let content: Data
        do throws(SystemError) { content = try formerFiles.content(at: former) } catch {
            throw .init(description: error.description)
        }
        return try Self.replace(place, with: content, file)
    }

    private static func replace(
        _ place: FileReplacement, with content: Data, _ file: URL
    ) throws(PhotoRotation.Refusal) -> FileStamp {
        do throws(FileReplacement.Failure) {
            try place.write(content)
            return try FileReplacement(of: file).stamp
        } catch {
            throw .init(description: error.description)
        }
    }
}
