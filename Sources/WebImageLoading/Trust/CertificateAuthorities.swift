public import FoundationEssentials

/// Whose signature makes a server's certificate good.
public enum CertificateAuthorities: Sendable, Hashable {
    /// Those of the system: `/etc/ssl/certs/ca-certificates.crt`, or libcurl's own default where that is not there.
    case system
    /// Those in a PEM file, **instead of** the system's: a downloader for a private service should believe nobody else.
    /// For both, append to a copy of the system's file.
    case file(String)
    /// Those in PEM data, instead of the system's.
    case pem(Data)
}

/// A server's public key, known beforehand.
///
/// ```sh
/// openssl x509 -in server.pem -noout -pubkey | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64
/// ```
public struct PublicKeyPin: Sendable, Hashable {
    let base64: String

    /// - Parameter sha256Base64: the SHA-256 of the key's DER form, in base64; `nil` unless that is 32 bytes. A `sha256//`
    ///   before it, as curl has it, is passed over.
    public init?(sha256Base64 text: String) {
        let digits = text.hasPrefix("sha256//") ? String(text.dropFirst(8)) : text
        guard Data(base64Encoded: digits)?.count == 32 else { return nil }
        base64 = digits
    }
}

/// Which keys servers must have; any will do where nothing is said.
public struct PublicKeyPins: Sendable, Hashable {
    /// For every host without pins of its own.
    public var anyHost: [PublicKeyPin]
    /// By host, however it is spelled: `pin.example` is for `PIN.example.` too. One of them must be the server's.
    public var byHost: [String: [PublicKeyPin]]

    /// Makes pins; none by default.
    public init(anyHost: [PublicKeyPin] = [], byHost: [String: [PublicKeyPin]] = [:]) {
        self.anyHost = anyHost
        self.byHost = byHost
    }

    /// With hosts as ``HTTPOrigin/host`` has them.
    var normalized: PublicKeyPins {
        let pins = byHost.map { (HostPattern.normalized($0.key), $0.value) }
        return PublicKeyPins(anyHost: anyHost, byHost: Dictionary(pins, uniquingKeysWith: +))
    }

    func pins(for host: String) -> [PublicKeyPin] { byHost[host] ?? anyHost }
}
