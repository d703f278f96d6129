import Dispatch
import FoundationEssentials
import Glibc
import ProgramSupport
import WebImageGTK

extension GallerySession {
    /// Gives photographs 0 to 5 stars, in their sidecars.
    func setStars(_ stars: Int, of urls: [URL]) {
        changeMarks(of: urls) { packet throws(XMPPacket.Failure) in try packet.setStars(stars) }
    }

    /// Gives photographs these tags in place of their former ones, in their sidecars.
    func setTags(_ tags: [String], of urls: [URL]) {
        changeMarks(of: urls) { packet throws(XMPPacket.Failure) in try packet.setTags(tags) }
    }

    private func changeMarks(
        of urls: [URL], _ body: @escaping @Sendable (inout XMPPacket) throws(XMPPacket.Failure) -> Void
    ) {
        let photos = urls.filter(\.isFileURL)
        guard !photos.isEmpty else { return showToast(localized("Only files can have stars and tags.")) }
        fileChanges.run(photos) { [self] in
            var (changes, failures): ([MarksChange], [String]) = ([], [])
            for photo in photos {
                do throws(Sidecar.Failure) {
                    changes.append(
                        try await DispatchQueue.files.run { _ throws(Sidecar.Failure) in
                            try MarksChange(of: Sidecar(of: photo), body)
                        })
                } catch {
                    failures.append(error.description)
                }
            }
            index.update(Set(changes.map(\.sidecar.photo)))
            if let failure = failures.first { showToast(failure) }
            if let first = changes.first { didChangeMarks(changes, first.sidecar) }
        }
    }

    private func didChangeMarks(_ changes: [MarksChange], _ first: Sidecar) {
        noteStep(of: changes.map(\.sidecar.photo)) { [weak self] in
            for change in changes {
                if let failure = await DispatchQueue.files.run({ _ in change.undo() }) { self?.showToast(failure) }
            }
            self?.index.update(Set(changes.map(\.sidecar.photo)))
            return nil
        }
        guard !hasSaidWhereMarksAre else { return }
        hasSaidWhereMarksAre = true
        showToast(localized("Stars and tags are kept beside the photo, in {file}", ["file": first.file.displayName]))
    }
}

/// A sidecar that was changed, with what it was.
private struct MarksChange: Sendable {
    let sidecar: Sidecar
    /// `nil` if there was no file.
    private let former: Data?
    private let current: Data?

    /// Changes a sidecar. Blocks the thread.
    init(
        of sidecar: Sidecar, _ body: (inout XMPPacket) throws(XMPPacket.Failure) -> Void
    ) throws(Sidecar.Failure) {
        self.sidecar = sidecar
        former = Self.content(of: sidecar)
        try sidecar.change(body)
        current = Self.content(of: sidecar)
    }

    private static func content(of sidecar: Sidecar) -> Data? { try? LocalFile.content(sidecar.file.filePath) }

    /// Brings the former text back, unless another program has changed it. Returns why not, for users. Blocks the thread.
    func undo() -> String? {
        let name = sidecar.file.displayName
        guard let current, Self.content(of: sidecar) == current else {
            return localized("{file} has changed since.", ["file": name])
        }
        guard let former else {
            guard sidecar.file.filePath.withCString({ unlink($0) }) == 0 else {
                return "\(name): \(String(cString: strerror(errno)))"
            }
            return nil
        }
        do throws(FileReplacement.Failure) {
            try FileReplacement(of: sidecar.file).write(former)
            return nil
        } catch {
            return "\(name): \(error)"
        }
    }
}
