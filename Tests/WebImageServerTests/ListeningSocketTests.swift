import Foundation
import Glibc
import Testing
import WebImageTestSupport

@testable import WebImageServer

/// Where a server listens.
@Suite(.timeLimit(.minutes(1)))
struct ListeningSocketTests {
    /// A mistake in a setting must not cost a file.
    @Test func aFileInPlaceOfASocketStays() throws {
        let directory = try TemporaryDirectory()
        try directory.write(Data("kept".utf8), to: "notes.txt")
        try FileManager.default.createSymbolicLink(atPath: directory.path("link"), withDestinationPath: "notes.txt")
        try FileManager.default.createDirectory(atPath: directory.path("folder"), withIntermediateDirectories: false)
        for name in ["notes.txt", "link", "folder"] {
            let failure = #expect(throws: StartFailure.self) {
                try ListeningSocket.open("unix:" + directory.path(name))
            }
            #expect(failure?.status == 1 && failure?.description.contains("cannot listen") == true)
        }
        #expect(try Data(contentsOf: directory.url("notes.txt")) == Data("kept".utf8))
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() == [
                "folder", "link", "notes.txt",
            ])
    }

    @Test func aSocketOfAnotherRunIsReplaced() throws {
        let directory = try TemporaryDirectory()
        for _ in 0..<2 {
            let socket = try ListeningSocket.open("unix:" + directory.path("socket"))
            #expect(ListeningSocket.name(of: socket) == "unix:" + directory.path("socket"))
            _ = try RawClient("unix:" + directory.path("socket"))
            close(socket)
        }
    }

    /// Descriptors that systemd has opened for another process, such as the one that has started this, are something else here.
    @Test func socketsOfOtherProcessesAreNotTaken() throws {
        let own = "\(getpid())"
        for environment in [
            [:], ["LISTEN_FDS": "1"], ["LISTEN_PID": own], ["LISTEN_PID": "1", "LISTEN_FDS": "1"],
            ["LISTEN_PID": "\(getppid())", "LISTEN_FDS": "1"], ["LISTEN_PID": "", "LISTEN_FDS": "1"],
            ["LISTEN_PID": own, "LISTEN_FDS": "0"], ["LISTEN_PID": own, "LISTEN_FDS": "-1"],
            ["LISTEN_PID": own, "LISTEN_FDS": "x"],
        ] { #expect(ListeningSocket.inherited(environment).isEmpty, "\(environment)") }
        #expect(ListeningSocket.inherited(["LISTEN_PID": own, "LISTEN_FDS": "2"]) == [3, 4])
    }
}
