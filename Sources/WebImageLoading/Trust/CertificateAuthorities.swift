public import FoundationEssentials

/// The authorities that sign valid server certificates.
public enum CertificateAuthorities: Sendable, Hashable {
    /// The system's: `/etc/ssl/certs/ca-certificates.crt`, or libcurl's default if that file is missing.
    case system
    /// The authorities in a PEM file, **instead of** the system's: a downloader for a private service should trust no others. For both,
    /// append to a copy of the system's file.
    case file(String)
    /// The authorities in PEM data, instead of the system's.
    case pem(Data)
}

/// ``ImageDownloader/Configuration/pinnedPublicKeys`` in the form that libcurl takes.
struct PublicKeyPins: Sendable {
    private var byHost: [String: [String]]
    private var anyHost: [String]

    init(_ pins: [String: [String]]) {
        let normalized = pins.map { (HostPattern.normalized($0.key), $0.value.map(Self.base64)) }
        byHost = Dictionary(normalized, uniquingKeysWith: +)
        anyHost = byHost.removeValue(forKey: "*") ?? []
    }

    /// - Parameter host: as ``HTTPOrigin/host`` has it.
    func pins(for host: String) -> [String] { byHost[host] ?? anyHost }

    /// Returns the base64 of a key's SHA-256. An invalid text gives one that no key has: to ignore it could allow any key.
    private static func base64(_ text: String) -> String {
        let digits = text.hasPrefix("sha256//") ? String(text.dropFirst(8)) : text
        return Data(base64Encoded: digits)?.count == 32 ? digits : Data(count: 32).base64EncodedString()
    }
}
