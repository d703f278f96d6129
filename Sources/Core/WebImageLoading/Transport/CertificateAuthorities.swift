public import FoundationEssentials

/// The authorities that sign valid server certificates.
///
/// ```swift
/// var configuration = ImageDownloader.Configuration()
/// configuration.certificateAuthorities = .file("/etc/company/authority.pem")
/// ```
public enum CertificateAuthorities: Sendable {
    /// The system's: `/etc/ssl/certs/ca-certificates.crt`, or libcurl's default if that file is missing.
    case system
    /// The authorities in a PEM file, instead of the system's. Loads fail with ``WebImageError/transport(code:message:url:)`` if it cannot be read.
    case file(String)
    /// The authorities in PEM data, instead of the system's.
    case pem(Data)
}
