import Foundation
import Glibc
import ProgramSupport
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK

/// Files that get another name or place, on file systems that lack some calls.
final class FileMoveTests: XCTestCase {
    private static let ways: [(name: String, move: FileMove)] = [
        ("renameat2", FileMove()), ("link", FileMove(renameToUnusedName: { _, _ in EINVAL })),
        ("rename", FileMove(renameToUnusedName: { _, _ in ENOSYS }, link: { _, _ in EPERM })),
        ("rename, without a kernel's link", FileMove(renameToUnusedName: { _, _ in ENOSYS }, link: { _, _ in ENOSYS })),
    ]

    func testAFileMovesAndReplacesNone() throws {
        for (name, move) in Self.ways {
            let folder = try TemporaryFolder()
            let file = SystemString(try folder.write("a", Data("a".utf8)).path)
            let other = SystemString(try folder.write("b", Data("b".utf8)).path)
            XCTAssertEqual(move(file, to: other), EEXIST, name)
            XCTAssertEqual(try String(contentsOfFile: other.description, encoding: .utf8), "b", name)
            XCTAssertNil(move(file, to: SystemString(folder.path + "/c")), name)
            XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted(), ["b", "c"], name)
            XCTAssertEqual(move(file, to: SystemString(folder.path + "/d")), ENOENT, name)
        }
    }

    func testANameThatDiffersInCaseOnlyIsTakenThroughAnother() throws {
        let folder = try TemporaryFolder()
        let file = SystemString(try folder.write("a", Data("a".utf8)).path)
        // This name too finds the file, as on a file system that does not tell upper from lower case.
        let sameFile = SystemString(folder.path + "/./a")
        let calls = Calls()
        let move = FileMove(renameToUnusedName: { file, place in
            calls.add(place)
            return FileMove().renameToUnusedName(file, place)
        })
        XCTAssertNil(move(file, to: sameFile))
        XCTAssertEqual(calls.places.first, sameFile)
        XCTAssertEqual(calls.places.last, sameFile)
        XCTAssertEqual(calls.places.count, 3, "through a name between")
        XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: folder.path), ["a"])
    }

    func testAMoveThatFailsLeavesNoSecondName() throws {
        let folder = try TemporaryFolder()
        let file = SystemString(try folder.write("a", Data("a".utf8)).path)
        let move = FileMove(
            renameToUnusedName: { _, _ in EPERM }, unlink: { $0 == file ? EPERM : FileMove().unlink($0) })
        XCTAssertEqual(move(file, to: SystemString(folder.path + "/b")), EPERM)
        XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: folder.path), ["a"])
    }

    func testAnotherLinkToTheFileIsNotReplaced() throws {
        let folder = try TemporaryFolder()
        let file = SystemString(try folder.write("a", Data("a".utf8)).path)
        XCTAssertEqual(file.withCString { link($0, folder.path + "/A") }, 0)
        let calls = Calls()
        let move = FileMove(renameToUnusedName: { file, place in
            calls.add(place)
            return FileMove().renameToUnusedName(file, place)
        })
        XCTAssertEqual(move(file, to: SystemString(folder.path + "/A")), EEXIST)
        // Not even for a moment does the file have another name.
        XCTAssertEqual(calls.places, [SystemString(folder.path + "/A")])
        XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted(), ["A", "a"])
    }

    func testTheFileThatWasRemovedLastComesBack() throws {
        let folder = try TemporaryFolder()
        let file = folder.url.appendingPathComponent("a.png")
        for (name, place, day) in [
            ("a.png", file.path, 2), ("a.2.png", file.path, 3), ("a.3.png", file.path, 1),
            ("b.png", folder.path + "/b.png", 4),
        ] {
            try folder.write("Trash/files/\(name)", Data("\(day)".utf8))
            let info = "[Trash Info]\nPath=\(place)\nDeletionDate=2026-01-0\(day)T00:00:00\n"
            try folder.write("Trash/info/\(name).trashinfo", Data(info.utf8))
        }
        try Trash(dataFolder: folder.path).restore(file)
        XCTAssertEqual(try String(contentsOf: file, encoding: .utf8), "3")
    }

    private final class Calls: Sendable {
        private let box = LockBox<[SystemString]>([])
        var places: [SystemString] { box.withLock { $0 } }
        func add(_ place: SystemString) { box.withLock { $0.append(place) } }
    }
}
