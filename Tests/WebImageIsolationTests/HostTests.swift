import Glibc
import Testing

@testable import WebImageIsolation

/// Isolation in unusual programs and places: it works, or it is an error. The program never decodes itself.
///
/// `Tests/IsolationHost` is the program; each test runs it once.
@Suite(.serialized, .timeLimit(.minutes(2))) struct HostTests {
    /// What the program prints at its end.
    private struct Outcome: Equatable {
        var decoded = 0
        var isolated = 0
        var layers: Set<String> = []
    }

    private static let folder = (DecoderLocation.programPath ?? "").split(separator: "/").dropLast()
        .reduce(into: "") { $0 += "/\($1)" }
    private static let program = "\(folder)/IsolationHost"

    /// Runs a command of the shell, in which `$host` is the program, and returns what it prints.
    private func output(of command: String, status: Int32) throws -> String {
        // The group ends with the test's limit at the latest.
        let text = "host=\(Self.program); folder=\(Self.folder); export host folder; timeout 60 sh -c '\(command)' 2>&1"
        let stream = try #require(popen(text, "re"))
        var output = ""
        var buffer = [CChar](repeating: 0, count: 4096)
        while fgets(&buffer, Int32(buffer.count), stream) != nil {
            output += String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
        #expect(pclose(stream) == status << 8, "\(output)")
        return output
    }

    private func run(_ command: String) throws -> (outcome: Outcome, output: String) {
        let output = try output(of: command, status: 0)
        let line = try #require(output.split(separator: "\n").last { $0.hasPrefix("decoded=") }, "\(output)")
        var outcome = Outcome()
        for word in line.split(separator: " ") {
            let parts = word.split(separator: "=", omittingEmptySubsequences: false)
            switch parts[0] {
            case "decoded": outcome.decoded = Int(parts[1]) ?? -1
            case "isolated": outcome.isolated = Int(parts[1]) ?? -1
            case "layers": outcome.layers = Set(parts[1].split(separator: ",").map(String.init))
            default: break
            }
        }
        return (outcome, output)
    }

    private func expectIsolated(_ command: String, _ layers: Set<SandboxLayer> = [.systemCallFilter]) throws {
        let (outcome, output) = try run(command)
        #expect(outcome.decoded > 0)
        #expect(outcome.isolated == outcome.decoded, "\(output)")
        #expect(outcome.layers.isSuperset(of: layers.map(\.rawValue)), "\(outcome.layers)")
    }

    /// Expects that the program decodes nothing, because it has no process.
    private func expectError(_ command: String, _ reason: String) throws {
        let output = try output(of: command, status: 2)
        #expect(output.hasPrefix("error:") && output.contains(reason), "\(output)")
    }

    @Test(arguments: [
        "plain", "ignore-children", "handle-children", "close-descriptors", "fork", "setuid", "threads",
        "address-space",
        "few-descriptors", "filtered", "landlocked",
    ])
    func programsDecodeIsolated(situation: String) throws {
        guard situation != "setuid" || geteuid() == 0 else { try Test.cancel("needs root") }
        try expectIsolated("exec $host \(situation)")
    }

    @Test(arguments: ["no-processes", "no-file-size"])
    func programsThatCannotStartAProcessDecodeNothing(situation: String) throws {
        guard situation != "no-processes" || geteuid() == 0 else { try Test.cancel("needs root") }
        try expectError("exec $host \(situation) plain", "isolation")
    }

    @Test func aMissingDecoderIsAnError() throws {
        try expectError(
            "exec env WEBIMAGE_DECODER_PATH=/nowhere/webimage-decoder $host plain",
            "/nowhere/webimage-decoder cannot be executed")
    }

    /// Without the program beside it, as an app whose target does not name it.
    @Test(
        .enabled(
            if: DecoderLocation.places(besideProgram: nil).allSatisfy { access($0, F_OK) != 0 },
            "webimage-decoder is installed"))
    func anErrorNamesTheProductAndThePlaces() throws {
        let output = try output(
            of:
                "folder=$(mktemp -d); cp $host $folder; $folder/IsolationHost plain; status=$?; rm -r $folder; exit $status",
            status: 2)
        for text in [
            "webimage-decoder is not in /tmp/", "/../libexec/webimage/webimage-decoder, ",
            "/usr/libexec/webimage/webimage-decoder",
            #".product(name: "webimage-decoder", package: "swift-web-image")"#,
        ] { #expect(output.contains(text), "\(output)") }
    }

    /// Without user namespaces, as after `kernel.unprivileged_userns_clone=0`.
    @Test(.enabled(if: canMakeNamespaces(), "needs user namespaces")) func worksWithoutNamespaces() throws {
        let limits = ["user", "net", "pid", "mnt", "ipc"].map { "echo 0 >/proc/sys/user/max_\($0)_namespaces" }
            .joined(separator: " && ")
        try expectIsolated(
            "exec unshare --user --map-root-user --mount sh -c \"\(limits) && exec setpriv --no-new-privs --bounding-set=-all --inh-caps=-all $host plain\"",
            [.systemCallFilter, .noNewPrivileges, .noCapabilities, .resourceLimits])
    }

    @Test(.enabled(if: geteuid() == 0 && canMakeNamespaces(), "needs root and namespaces"))
    func worksInARootWithoutProc() throws {
        try expectIsolated(
            """
            exec unshare --mount sh -c "mount -t tmpfs tmpfs /mnt && cd /mnt && mkdir app &&
            for place in usr lib lib64 opt; do test ! -e /\\$place || { mkdir \\$place && mount --rbind /\\$place \\$place; }; done &&
            mount --bind $folder app && exec env WEBIMAGE_DECODER_PATH=/app/webimage-decoder chroot . /app/IsolationHost plain"
            """)
    }

    @Test(arguments: [
        // As Flatpak does it. The programs may be in /tmp.
        "bwrap --ro-bind / / --proc /proc --dev /dev --tmpfs /tmp --ro-bind FOLDER FOLDER --unshare-all --die-with-parent --new-session",
        "firejail --quiet --noprofile",
        "firejail --quiet --noprofile --seccomp --caps.drop=all --nonewprivs --noroot",
    ])
    func worksInSandboxes(command: String) throws {
        let command = command.replacing("FOLDER", with: Self.folder)
        let name = command.prefix { $0 != " " }
        // Not everywhere are they installed, or allowed to run.
        guard system("\(command) true >/dev/null 2>&1") == 0 else {
            try Test.cancel("\(name) does not run here")
        }
        try expectIsolated("exec \(command) $host plain")
    }

    private static func canMakeNamespaces() -> Bool {
        system("unshare --user --map-root-user --mount true 2>/dev/null") == 0
    }
}
