package import FoundationEssentials

/// The authorities that sign valid server certificates.
package enum CertificateAuthorities: Sendable {
    /// The system's: `/etc/ssl/certs/ca-certificates.crt`, or libcurl's default if that file is missing.
    case system
    /// The authorities in a PEM file, instead of the system's.
    case file(String)
    /// The authorities in PEM data, instead of the system's.
    case pem(Data)
}
