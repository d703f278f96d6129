import CGallery
import Glibc
import ProgramSupport
import WebImageGTK

/// Moves a file to another place on its file system, unless there is a file.
///
/// The kernel does both in one step, where the file system can. Otherwise a link takes the new name, which fails if that is in use;
/// where links are missing too, as on some network drives, the check and the move are two steps.
struct FileMove: Sendable {
    /// Moves a file unless there is one. Returns the error number; 0 on success.
    var renameToUnusedName: @Sendable (_ file: SystemString, _ place: SystemString) -> Int32 = { file, place in
        file.withCString { file in place.withCString { gallery_rename_to_unused_name(file, $0) } }
    }
    /// Gives a file another name beside its own. Returns the error number; 0 on success.
    var link: @Sendable (_ file: SystemString, _ place: SystemString) -> Int32 = { file, place in
        file.withCString { file in place.withCString { Glibc.link(file, $0) == 0 ? 0 : errno } }
    }
    /// Removes a name of a file. Returns the error number; 0 on success.
    var unlink: @Sendable (_ file: SystemString) -> Int32 = { $0.withCString { Glibc.unlink($0) == 0 ? 0 : errno } }

    /// Returns the error number; `nil` if the file was moved. Blocks the thread.
    func callAsFunction(_ file: SystemString, to place: SystemString) -> Int32? {
        guard let failure = move(file, place) else { return nil }
        guard failure == EEXIST, Self.isSameFile(file, place) else { return failure }
        // The names differ in upper and lower case only, which this file system does not tell apart.
        let between = place + ".\(UInt64.random(in: .min ... .max))"
        if let failure = move(file, between) { return failure }
        guard let failure = move(between, place) else { return nil }
        _ = move(between, file)
        return failure
    }

    private func move(_ file: SystemString, _ place: SystemString) -> Int32? {
        var failure = renameToUnusedName(file, place)
        if Self.meansMissing.contains(failure) {
            failure = link(file, place)
            if failure == 0 {
                failure = unlink(file)
                // A failed move leaves no second name.
                if failure != 0, Self.isSameFile(file, place, linkCounts: 2 ... .max) { _ = unlink(place) }
                return failure == 0 ? nil : failure
            }
        }
        guard Self.meansMissing.contains(failure) else { return failure == 0 ? nil : failure }
        guard place.withCString({ access($0, F_OK) }) != 0 else { return EEXIST }
        return file.withCString { file in place.withCString { rename(file, $0) == 0 ? nil : errno } }
    }

    /// The errors of calls that the kernel or the file system does not have.
    private static let meansMissing: Set<Int32> = [ENOSYS, EINVAL, EPERM, ENOTSUP]

    /// Whether both names are those of one file, by default one without other links.
    private static func isSameFile(
        _ file: SystemString, _ place: SystemString, linkCounts: ClosedRange<nlink_t> = 1...1
    ) -> Bool {
        var (first, second) = (stat(), stat())
        return file.withCString { lstat($0, &first) } == 0 && place.withCString { lstat($0, &second) } == 0
            && first.st_dev == second.st_dev
            && first.st_ino == second.st_ino && linkCounts.contains(first.st_nlink)
    }
}
