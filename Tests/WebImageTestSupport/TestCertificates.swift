import FoundationEssentials
import Glibc

/// A certificate authority and server certificates, made anew for each test process by the `openssl` program; see
/// `Tests/Servers/make_certificates.sh`.
public struct TestCertificates: Sendable {
    /// The server certificates there are.
    public enum Name: String, CaseIterable, Sendable {
        /// For 127.0.0.1, `localhost`, `a.localhost` and `b.localhost`, signed by the authority.
        case valid
        /// As ``valid``, but its time has passed.
        case expired
        /// For `other.example`.
        case wrongHost = "wrong-host"
        /// For the right names, signed by itself.
        case selfSigned = "self-signed"
    }

    /// Those of this process, made when they are first asked for.
    public static let shared = Result { try TestCertificates(directory: TestCertificates.makeDirectory()) }

    private let directory: String
    /// The public key of ``Name/valid`` as libcurl takes a pin: `sha256//…`.
    public let validPin: String

    private init(directory: String) throws {
        self.directory = directory
        let process = try ChildProcess(["sh", TestServers.path("make_certificates.sh"), directory])
        _ = process.readAll()
        process.stop()
        guard let pin = try? String(contentsOfFile: directory + "/valid.pin", encoding: .utf8) else {
            let log = (try? String(contentsOfFile: directory + "/openssl.log", encoding: .utf8)) ?? ""
            throw TestServerError("openssl makes no certificates: \(log)")
        }
        validPin = String(pin.prefix { $0 != "\n" })
    }

    /// The authority's certificate, a PEM file; no system trusts it.
    public var authority: String { directory + "/ca.pem" }

    /// A server's certificate, a PEM file.
    public func certificate(_ name: Name) -> String { "\(directory)/\(name.rawValue).pem" }

    /// Its private key, a PEM file.
    public func privateKey(_ name: Name) -> String { "\(directory)/\(name.rawValue).key" }

    /// A directory that is removed when the process exits: what is static has no other end.
    private static func makeDirectory() throws -> String {
        atexit {
            guard case .success(let certificates) = TestCertificates.shared else { return }
            try? FileManager.default.removeItem(atPath: certificates.directory)
        }
        var template = Array("/tmp/webimage-certificates-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw TestServerError("no temporary directory: errno \(errno)") }
        return template.withUnsafeBufferPointer {
            String(decoding: $0.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }
}
