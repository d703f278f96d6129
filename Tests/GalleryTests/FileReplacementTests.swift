import CWebImageGTK
import Foundation
import Glibc
import GTKObjects
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK

/// Files whose content is replaced, and what Undo needs of the former content.
final class FileReplacementTests: XCTestCase {
    func testAFileIsReplacedAsAWhole() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("in/a.jpg", Data("former".utf8))
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: file.path)
        let link = folder.url.appendingPathComponent("link.jpg")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
        let replacement = try FileReplacement(of: link)
        XCTAssertTrue(replacement.isCurrent)
        try replacement.write(Data("new".utf8))
        XCTAssertFalse(replacement.isCurrent)
        XCTAssertEqual(try String(contentsOf: file, encoding: .utf8), "new")
        XCTAssertEqual(
            try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int, 0o640)
        XCTAssertEqual(try FileManager.default.destinationOfSymbolicLink(atPath: link.path), file.path)
        XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/in"), ["a.jpg"])
        XCTAssertThrowsError(try FileReplacement(of: folder.url.appendingPathComponent("missing"))) {
            XCTAssertEqual($0 as? FileReplacement.Failure, .system(ENOENT))
        }
    }

    func testAFileThatHasChangedIsNotReplaced() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("a", Data("former".utf8))
        let replacement = try FileReplacement(of: file)
        var status = stat()
        XCTAssertEqual(stat(file.path, &status), 0)
        // As long as before, and with its time, as programs write metadata that are told to keep the time.
        let descriptor = open(file.path, O_WRONLY)
        XCTAssertEqual(Glibc.write(descriptor, "other!", 6), 6)
        var times = [status.st_atim, status.st_mtim]
        XCTAssertEqual(futimens(descriptor, &times), 0)
        close(descriptor)
        XCTAssertThrowsError(try replacement.write(Data("new".utf8))) {
            XCTAssertEqual($0 as? FileReplacement.Failure, .changed)
        }
        XCTAssertEqual(try String(contentsOf: file, encoding: .utf8), "other!")
        XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: folder.path), ["a"])
    }

    func testAFileWithAnotherNameIsNotReplaced() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("a", Data("former".utf8))
        XCTAssertEqual(link(file.path, folder.path + "/b"), 0)
        let replacement = try FileReplacement(of: file)
        XCTAssertThrowsError(try replacement.write(Data("new".utf8))) {
            XCTAssertEqual($0 as? FileReplacement.Failure, .hasOtherNames)
        }
        XCTAssertEqual(try String(contentsOf: file, encoding: .utf8), "former")
    }

    func testAWriteProtectedFileIsNotReplaced() throws {
        guard geteuid() != 0 else { throw XCTSkip("the administrator may write to each file") }
        let folder = try TemporaryFolder()
        let file = try folder.write("a", Data("former".utf8))
        XCTAssertEqual(chmod(file.path, 0o444), 0)
        let replacement = try FileReplacement(of: file)
        XCTAssertThrowsError(try replacement.write(Data("new".utf8))) {
            XCTAssertEqual($0 as? FileReplacement.Failure, .system(EACCES))
        }
        XCTAssertEqual(try String(contentsOf: file, encoding: .utf8), "former")
    }

    func testTheLongestNameCanBeReplaced() throws {
        let folder = try TemporaryFolder()
        // 255 bytes, in 85 characters.
        let file = try folder.write(String(repeating: "写", count: 85), Data("former".utf8))
        try FileReplacement(of: file).write(Data("new".utf8))
        XCTAssertEqual(try String(contentsOf: file, encoding: .utf8), "new")
    }

    func testAContentThatDoesNotFitLeavesTheFormerOne() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("a", Data("former".utf8))
        let replacement = try FileReplacement(of: file)
        // As on a file system that is full.
        var former = rlimit()
        XCTAssertEqual(getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &former), 0)
        var limits = rlimit(rlim_cur: 4096, rlim_max: former.rlim_max)
        let action = signal(SIGXFSZ, SIG_IGN)
        setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limits)
        let result = Result { try replacement.write(Data(count: 5000)) }
        setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &former)
        signal(SIGXFSZ, action)
        XCTAssertThrowsError(try result.get()) {
            XCTAssertEqual($0 as? FileReplacement.Failure, .system(EFBIG))
        }
        XCTAssertEqual(try String(contentsOf: file, encoding: .utf8), "former")
        XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: folder.path), ["a"])
    }

    /// A folder may give each new file rights that its former content did not have.
    func testANewContentGetsNoRightsOfTheFolder() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("a", Data("former".utf8))
        XCTAssertEqual(chmod(file.path, 0o640), 0)
        // Version 2; then a tag, rights and an identifier each: the owner, another user, the group, the mask, all others.
        let entries: [(tag: UInt16, rights: UInt16, identifier: UInt32)] = [
            (0x01, 7, .max), (0x02, 4, 65534), (0x04, 5, .max), (0x10, 5, .max), (0x20, 0, .max),
        ]
        var list = withUnsafeBytes(of: UInt32(2).littleEndian) { Array($0) }
        for entry in entries {
            withUnsafeBytes(of: entry.tag.littleEndian) { list += $0 }
            withUnsafeBytes(of: entry.rights.littleEndian) { list += $0 }
            withUnsafeBytes(of: entry.identifier.littleEndian) { list += $0 }
        }
        // The module of the C library lacks both.
        typealias Setter =
            @convention(c) (
                UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafeRawPointer, Int, Int32
            ) -> Int32
        typealias Getter =
            @convention(c) (
                UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafeMutableRawPointer?, Int
            ) -> Int
        let set = unsafeBitCast(try XCTUnwrap(dlsym(nil, "setxattr")), to: Setter.self)
        let get = unsafeBitCast(try XCTUnwrap(dlsym(nil, "getxattr")), to: Getter.self)
        guard set(folder.path, "system.posix_acl_default", list, list.count, 0) == 0 else {
            throw XCTSkip("the file system has no access control lists")
        }
        try FileReplacement(of: file).write(Data("new".utf8))
        XCTAssertEqual(try String(contentsOf: file, encoding: .utf8), "new")
        XCTAssertEqual(get(file.path, "system.posix_acl_access", nil, 0), -1)
        XCTAssertEqual(
            try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int, 0o640)
    }

    func testExtendedAttributesStay() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("a", Data("former".utf8))
        let pointer = g_file_new_for_path(file.path)
        defer { g_object_unref(UnsafeMutableRawPointer(pointer)) }
        var error: UnsafeMutablePointer<GError>?
        if g_file_set_attribute_string(pointer, "xattr::tags", "lake", G_FILE_QUERY_INFO_NONE, nil, &error) == 0 {
            let isUnsupported = g_error_matches(error, g_io_error_quark(), gint(G_IO_ERROR_NOT_SUPPORTED.rawValue)) != 0
            let reason = error.takeMessage()
            try XCTSkipIf(isUnsupported, "the file system has no extended attributes")
            return XCTFail(reason)
        }
        try FileReplacement(of: file).write(Data("new".utf8))
        guard let info = g_file_query_info(pointer, "xattr::*", G_FILE_QUERY_INFO_NONE, nil, &error) else {
            return XCTFail(error.takeMessage())
        }
        defer { g_object_unref(UnsafeMutableRawPointer(info)) }
        let value = g_file_info_get_attribute_string(info, "xattr::tags").map { String(cString: $0) }
        XCTAssertEqual(value, "lake")
    }

    func testFormerContentsAreInAFileWithoutAName() throws {
        let folder = try TemporaryFolder()
        let formerFiles = try FormerFiles(in: folder.path)
        let contents = (0..<3).map { Data(repeating: UInt8($0), count: 100_000 + $0) }
        let places = try contents.map { try formerFiles.add($0) }
        XCTAssertEqual(try places.reversed().map { try formerFiles.content(at: $0) }, contents.reversed())
        XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: folder.path), [])
        XCTAssertThrowsError(try FormerFiles(in: folder.path + "/missing")) {
            XCTAssertEqual($0 as? SystemError, SystemError(number: ENOENT))
        }
    }
}
