internal import FoundationEssentials
internal import WebImageCore

/// The servers that a downloader may connect to, for servers that fetch URLs given by users.
///
/// ```swift
/// var configuration = ImageDownloader.Configuration.server         // with publicInternet
/// configuration.addressPolicy.deniedHosts = [".example.org"]
/// ```
///
/// Such a server must not be used to reach what only it can reach (server-side request forgery). The policy is applied
/// at each hop and each connection:
///
///     URL ──► scheme, host ──► lookup ──► socket: its address ──► request: the connection's address ──► wire
///             each hop                    each connection         also for a reused connection
///
/// The address is checked where the socket is opened, not after a separate lookup. A name that resolves to another
/// address the second time (DNS rebinding) is therefore caught, and so are `0x7f.1` and `[::ffff:127.0.0.1]`.
///
/// A proxy's own address is not checked. Behind a proxy, the server's address is unknown. A policy that denies networks
/// then refuses every host name.
///
/// Hosts are patterns. Case, a trailing dot and the form of an address make no difference:
/// - `example.org`: that host.
/// - `.example.org`: that host and all its subdomains.
/// - `*.example.org`, `img*.example.org`: `*` matches any characters, dots too.
///
/// International names are in their ASCII form (`xn--…`), here as in URLs: hosts in any other form are refused.
///
/// Networks are in CIDR notation, such as `10.0.0.0/8` or `fc00::/7`, or single addresses.
public struct AddressPolicy: Sendable {
    /// The allowed schemes, in lower case; http and https.
    var schemes: Set<String> = ["http", "https"]
    /// The only allowed hosts; `nil`, the default, allows all.
    public var allowedHosts: [String]? { didSet { allowedPatterns = allowedHosts?.map(HostPattern.init) } }
    /// The denied hosts; these take precedence over ``allowedHosts``.
    public var deniedHosts: [String] = [] { didSet { deniedPatterns = deniedHosts.map(HostPattern.init) } }
    /// Exceptions from ``deniedNetworks``. An invalid entry allows nothing.
    public var allowedNetworks: [String] = [] { didSet { allowedRanges = allowedNetworks.compactMap(IPNetwork.init) } }
    /// The denied networks. IPv6 addresses that contain an IPv4 address (mapped, NAT64, 6to4, Teredo, ISATAP) are
    /// checked as both. An invalid entry denies all addresses.
    public var deniedNetworks: [String] = [] {
        didSet {
            deniedRanges = deniedNetworks.flatMap { text in IPNetwork(text).map { [$0] } ?? IPNetwork.everything }
        }
    }
    /// Whether a proxy may look up names; `false`. With `socks4` and `socks5` proxies, this machine looks names up, and
    /// they stay forbidden.
    var allowsNamesResolvedByProxy = false

    private var allowedPatterns: [HostPattern]?
    private var deniedPatterns: [HostPattern] = []
    private var allowedRanges: [IPNetwork] = []
    private var deniedRanges: [IPNetwork] = []

    /// Creates a policy that allows everything, as ``ImageDownloader/Configuration/addressPolicy`` does at first.
    init() {}

    /// Allows the public internet only: no address of IANA's special-purpose registries (RFC 6890), no multicast, and
    /// not Azure's platform services at 168.63.129.16.
    ///
    /// Denied are this machine, private networks, carrier-grade NAT, link-local addresses with the metadata services of
    /// clouds, unique local, documentation, benchmarking, multicast, reserved and broadcast addresses.
    public static let publicInternet: AddressPolicy = {
        var policy = AddressPolicy()
        policy.deniedNetworks = IPNetwork.nonPublic
        return policy
    }()

    /// Returns why `url` is forbidden, as far as the URL tells; `nil` for an allowed one.
    func blockReason(for url: URL) -> WebImageError.BlockReason? {
        let scheme = url.scheme?.lowercased() ?? ""
        guard schemes.contains(scheme) else { return .scheme(scheme) }
        guard allowedPatterns != nil || !deniedPatterns.isEmpty else { return nil }
        let original = url.host(percentEncoded: false) ?? url.host() ?? ""
        guard let host = url.canonicalHost else { return .host(original) }
        if let allowedPatterns, !allowedPatterns.contains(where: { $0.matches(host) }) { return .host(original) }
        return deniedPatterns.contains { $0.matches(host) } ? .host(original) : nil
    }

    /// Returns why connections to `address` are forbidden; `nil` for an allowed one.
    func blockReason(for address: IPAddress) -> WebImageError.BlockReason? {
        if allowedRanges.contains(where: { $0.contains(address) }) { return nil }
        let isDenied = deniedRanges.contains { $0.contains(address) }
        let hasDeniedPart = address.embeddedIPv4.contains { blockReason(for: $0) != nil }
        return isDenied || hasDeniedPart ? .host(address.description) : nil
    }

    /// Returns why `url` must not be loaded through `proxy`; `nil` for an allowed one.
    ///
    /// A proxy for which this machine looks up names is never allowed to get names: the addresses would go unchecked.
    func blockReason(for url: URL, through proxy: ProxyServer) -> WebImageError.BlockReason? {
        let host = url.canonicalHost ?? ""
        if let address = IPAddress(host: host) { return blockReason(for: address) }
        let isTrusted = allowsNamesResolvedByProxy && !proxy.looksUpNamesHere
        return deniedNetworks.isEmpty || isTrusted ? nil : .unresolvedHost(host)
    }
}

/// A host or a group of hosts; see ``AddressPolicy`` for the notation.
struct HostPattern: Sendable {
    private let text: String

    init(_ text: String) { self.text = Self.normalized(text) }

    func matches(_ host: String) -> Bool {
        let host = Self.normalized(host)
        if text.hasPrefix(".") { return host == text.dropFirst() || host.hasSuffix(text) }
        let pieces = text.split(separator: "*", omittingEmptySubsequences: false)
        guard let first = pieces.first, let last = pieces.last, pieces.count > 1 else { return host == text }
        guard host.utf8.count >= first.utf8.count + last.utf8.count, host.hasPrefix(first), host.hasSuffix(last) else {
            return false
        }
        var rest = host.dropFirst(first.count).dropLast(last.count)
        for piece in pieces.dropFirst().dropLast() where !piece.isEmpty {
            guard let range = rest.firstRange(of: piece) else { return false }
            rest = rest[range.upperBound...]
        }
        return true
    }

    /// Returns the host in lower case, without brackets and trailing dots, and addresses in their usual form.
    static func normalized(_ host: String) -> String {
        var host = host.lowercased()[...]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        while host.hasSuffix("."), host.count > 1 { host = host.dropLast() }
        guard let address = IPAddress(host: String(host)) else { return String(host) }
        return address.description + host.drop { $0 != "%" }
    }
}
