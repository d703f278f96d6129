/// What an exchange shows to whom, and whom it trusts.
package struct TransferAccess: Sendable {
    /// How libcurl may show a name and password.
    package enum Authentication: Sendable, Hashable {
        /// It asks first without, and takes the better of what the server offers.
        case negotiated
        /// At once.
        case basic
        /// It asks first without, for the nonce.
        case digest
    }

    /// A name and password for the server.
    package var credential: Credential?
    package var authentication = Authentication.negotiated
    /// `nil`: straight to the server.
    package var proxy: ProxyServer?
    package var proxyCredential: Credential?
    package var proxyAuthentication = Authentication.negotiated
    /// Fields that only the proxy sees.
    package var proxyHeaders: [HTTPField] = []
    package var allowsInvalidCertificates = false
    package var pinnedPublicKeys: [PublicKeyPin] = []
    package var usesCookies = false
    /// Where the host is, if that is not to be looked up.
    package var addresses: [String] = []
}
