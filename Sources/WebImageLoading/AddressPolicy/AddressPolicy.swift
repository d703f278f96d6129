public import FoundationEssentials
public import WebImageCore

/// Where a downloader may connect to: for servers that fetch URLs given by users, who must not reach what only the server
/// can reach (server-side request forgery).
///
///     URL ──► scheme, host ──► look-up ──► socket: its address ──► request: the connection's address ──► wire
///             each hop                     each connection         also where the connection is used again
///
/// The address is judged where the socket is opened, not after a look-up of our own: a name that stands for another
/// address the second time (DNS rebinding) gains nothing, nor does one written as `0x7f.1` or `[::ffff:127.0.0.1]`.
///
/// A proxy's own address is not judged: whoever configures a proxy trusts it. But behind a proxy the server's address can't
/// be seen, so a policy that denies networks then refuses every host that is no address, unless
/// ``allowsNamesResolvedByProxy`` says otherwise.
public struct AddressPolicy: Sendable, Hashable {
    /// The schemes allowed, in lower case; http and https.
    public var schemes: Set<String> = ["http", "https"]
    /// If set, only these hosts are allowed.
    public var allowedHosts: [HostPattern]?
    /// Hosts not allowed, whatever ``allowedHosts`` says.
    public var deniedHosts: [HostPattern] = []
    /// Exceptions from ``deniedNetworks``.
    public var allowedNetworks: [IPNetwork] = []
    /// Addresses not allowed. IPv6 addresses that stand for an IPv4 address (mapped, NAT64, 6to4, Teredo, ISATAP) are
    /// judged as both.
    public var deniedNetworks: [IPNetwork] = []
    /// Whether names are allowed that a proxy looks up; `false`. With `socks4` and `socks5` proxies this machine does, and
    /// they stay forbidden.
    public var allowsNamesResolvedByProxy = false

    /// Makes a policy that forbids nothing.
    public init() {}

    /// Everything; the default.
    public static let unrestricted = AddressPolicy()

    /// The public internet: no ``IPNetwork/nonPublic`` address.
    public static let publicInternet: AddressPolicy = {
        var policy = AddressPolicy()
        policy.deniedNetworks = IPNetwork.nonPublic
        return policy
    }()

    /// What forbids to ask for `url`, as far as the URL tells; `nil` if nothing does.
    public func objection(to url: URL) -> WebImageError.BlockCause? {
        let scheme = url.scheme?.lowercased() ?? ""
        guard schemes.contains(scheme) else { return .scheme(scheme) }
        guard allowedHosts != nil || !deniedHosts.isEmpty else { return nil }
        let spelt = url.host(percentEncoded: false) ?? url.host() ?? ""
        guard let host = url.canonicalHost else { return .host(spelt) }
        if let allowedHosts, !allowedHosts.contains(where: { $0.matches(host) }) { return .host(spelt) }
        return deniedHosts.contains { $0.matches(host) } ? .host(spelt) : nil
    }

    /// What forbids to connect to `address`; `nil` if nothing does.
    public func objection(to address: IPAddress) -> WebImageError.BlockCause? {
        if allowedNetworks.contains(where: { $0.contains(address) }) { return nil }
        let isDenied = deniedNetworks.contains { $0.contains(address) }
        let hasDeniedPart = address.embeddedIPv4.contains { objection(to: $0) != nil }
        return isDenied || hasDeniedPart ? .address(address.description) : nil
    }

    /// What forbids to have a proxy ask for `url`.
    ///
    /// With a proxy that has this machine look up names, nobody would judge the answer: those are never allowed.
    func objection(to url: URL, through proxy: ProxyServer) -> WebImageError.BlockCause? {
        let host = url.canonicalHost ?? ""
        if let address = IPAddress(host: host) { return objection(to: address) }
        let isTrusted = allowsNamesResolvedByProxy && !proxy.looksUpNamesHere
        return deniedNetworks.isEmpty || isTrusted ? nil : .unresolvedHost(host)
    }
}
