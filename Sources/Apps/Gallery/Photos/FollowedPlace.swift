import Dispatch
import FoundationEssentials
import Glibc
import ProgramSupport
import WebImageGTK

/// A folder that was opened, whose images the collection has.
struct FollowedPlace: Sendable {
    /// The folders that belong to it.
    enum Extent: Sendable, Equatable {
        /// The folder of a file, without those inside it.
        case folder(beside: URL)
        /// A folder as the user gave it, with those inside it.
        case tree(location: String)
    }

    let extent: Extent
    /// The folders that were read, as ``URL/folder`` has them.
    fileprivate(set) var folders: Set<SystemString>

    init(_ extent: Extent, folders: Set<SystemString>) { (self.extent, self.folders) = (extent, folders) }

    /// The folder of a file, without those inside it.
    init(beside file: URL) { self.init(.folder(beside: file), folders: [file.folder]) }

    /// The current content of folders.
    struct Reading: Sendable {
        let images: [URL]
        /// In the order in which they were given.
        let places: [FollowedPlace]
        /// Whether all could be read.
        let isComplete: Bool
    }

    /// Reads folders again. Images that are elsewhere stay behind those of the folder that they follow, while their files are there.
    ///
    /// - Parameter images: those of the collection.
    static func read(_ places: [FollowedPlace], again images: [URL], _ reader: LocationReader) async -> Reading {
        var (places, found) = (places, [[URL]?]())
        var owners: [SystemString: Int] = [:]
        for (index, place) in places.enumerated() {
            for folder in place.folders where owners[folder] == nil { owners[folder] = index }
        }
        for index in places.indices {
            let current = await places[index].read(known: images, reader)
            found.append(current?.images)
            if let current { places[index].folders = current.folders }
        }
        let merged = await DispatchQueue.files.run { [found, owners] _ in merge(found, with: images, owners) }
        return Reading(images: merged, places: places, isComplete: !found.contains(nil))
    }

    /// Returns the images and the folders; `nil` if the folder cannot be read.
    private func read(
        known: [URL], _ reader: LocationReader
    ) async -> (images: [URL], folders: Set<SystemString>)? {
        switch extent {
        case .folder(let file):
            return (await reader.images(beside: file, and: known.filter { contains($0) }), folders)
        case .tree(let location):
            let result = LockedBox<(images: [URL], folders: Set<SystemString>)>(([], []))
            do throws(LocationReader.Failure) {
                try await reader.read(location) { finding in
                    result.withLock { result in
                        result.images += finding.images
                        if let folder = finding.folder { result.folders.insert(folder) }
                    }
                }
            } catch .noImages {
                // All have left.
            } catch {
                return nil
            }
            return result.withLock { $0 }
        }
    }

    /// Whether an image is left out without hidden files: the part of its path in this place has a name that begins with a dot.
    func hides(_ image: URL) -> Bool {
        let root: SystemString
        switch extent {
        case .folder(let file):
            guard file != image else { return false }
            root = file.folder
        case .tree(let location):
            guard let path = LocationReader.path(of: location)?.withoutSlashAtEnd else { return false }
            root = path.hasSuffix("/") ? path : path + "/"
        }
        guard image.isFileURL, image.filePath.bytes.starts(with: root.bytes) else { return false }
        return image.filePath.bytes.dropFirst(root.bytes.count).split(separator: UInt8(ascii: "/"))
            .contains { $0.first == UInt8(ascii: ".") }
    }

    private func contains(_ url: URL) -> Bool { url.isFileURL && folders.contains(url.folder) }

    /// Puts the images that were found where those of their folder were. Blocks the thread.
    ///
    /// - Parameters:
    ///   - found: the images of each folder; `nil` if it could not be read.
    ///   - owners: the index of the place of each folder.
    private static func merge(_ found: [[URL]?], with images: [URL], _ owners: [SystemString: Int]) -> [URL] {
        // The places in the order of their first images, and the images that follow each: -1 for those before the first.
        var (sequence, own, others): ([Int], [Int: [URL]], [Int: [URL]]) = ([], [:], [:])
        var last = -1
        for image in images {
            if image.isFileURL, let owner = owners[image.folder] {
                if own[owner] == nil { sequence.append(owner) }
                own[owner, default: []].append(image)
                last = owner
            } else {
                others[last, default: []].append(image)
            }
        }
        sequence += found.indices.filter { own[$0] == nil }
        func present(_ images: [URL]?) -> [URL] { (images ?? []).filter { !isMissing($0) } }
        // Those that were opened by themselves may have names which a reading leaves out: they stay while they are there.
        func current(_ index: Int) -> [URL] {
            guard let found = found[index] else { return present(own[index]) }
            let known = Set(found)
            return found + present(own[index]?.filter { !known.contains($0) })
        }
        let merged = present(others[-1]) + sequence.flatMap { current($0) + present(others[$0]) }
        // A folder may be inside another one.
        var known: Set<URL> = []
        return merged.filter { known.insert($0).inserted }
    }

    /// Whether there is no such file. A file system that does not answer has lost none.
    private static func isMissing(_ url: URL) -> Bool {
        url.isFileURL && url.filePath.withCString { access($0, F_OK) } != 0
            && [ENOENT, ENOTDIR].contains(errno)
    }
}
