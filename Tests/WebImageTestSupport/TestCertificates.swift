import FoundationEssentials

/// A certificate authority and server certificates, made anew for each test process by the `openssl` program; see
/// `Tests/Servers/make_certificates.sh`.
public struct TestCertificates: Sendable {
    /// The server certificates there are.
    public enum Name: String, CaseIterable, Sendable {
        /// For 127.0.0.1, `localhost`, `a.localhost` and `b.localhost`, signed by the authority.
        case valid
        /// As ``valid``, but its time has passed.
        case expired
        /// As ``valid``, but its time has not begun.
        case notYetValid = "not-yet-valid"
        /// For `other.example`.
        case wrongHost = "wrong-host"
        /// For the right names, signed by itself.
        case selfSigned = "self-signed"
    }

    /// Those of this process, made when they are first asked for.
    public static let shared = Result { try TestCertificates() }

    /// It goes with the process.
    private let directory: TemporaryDirectory
    /// The public key of ``Name/valid`` as libcurl takes a pin: `sha256//…`.
    public let validPin: String

    private init() throws {
        directory = try TemporaryDirectory()
        let process = try ChildProcess(["sh", TestServers.path("make_certificates.sh"), directory.path])
        _ = process.readAll()
        process.stop()
        guard let pin = try? String(contentsOfFile: directory.path("valid.pin"), encoding: .utf8) else {
            let log = (try? String(contentsOfFile: directory.path("openssl.log"), encoding: .utf8)) ?? ""
            throw TestServerError("openssl makes no certificates: \(log)")
        }
        validPin = String(pin.prefix { $0 != "\n" })
    }

    /// The authority's certificate, a PEM file; no system trusts it.
    public var authority: String { directory.path("ca.pem") }

    /// A server's certificate, a PEM file.
    public func certificate(_ name: Name) -> String { directory.path("\(name.rawValue).pem") }

    /// Its private key, a PEM file.
    public func privateKey(_ name: Name) -> String { directory.path("\(name.rawValue).key") }
}
