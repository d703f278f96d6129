internal import FoundationEssentials
internal import Glibc
internal import WebImageCore

/// Chooses the proxy for a URL. libcurl could, but the address policy has to know it.
struct ProxyRules: Sendable {
    private enum Route {
        case through(ProxyServer)
        /// The environment variable of that name is no proxy's address. Loads fail: to go directly is not what it is
        /// set for.
        case unusable(variable: String)
    }

    private var routesByScheme: [String: Route] = [:]
    private var bypassesEverything = false
    private var bypassedHosts: [HostPattern] = []
    private var bypassedNetworks: [IPNetwork] = []

    init(_ proxy: ImageDownloader.Proxy) {
        switch proxy.route {
        case .none: self.init()
        case .environment: self.init(environment: { getenv($0).map { String(cString: $0) } })
        case .server(let server, let bypassing): self.init(server, bypassing: bypassing)
        }
    }

    private init() {}

    private init(_ server: ProxyServer, bypassing: [String]) {
        routesByScheme = ["http": .through(server), "https": .through(server)]
        addBypassed(bypassing)
    }

    /// Reads the variables as curl does: `http_proxy` in lower case only, since a web server sets `HTTP_PROXY` for its
    /// CGI programs to a client's header (CVE-2016-5385), the others in either case.
    init(environment value: (String) -> String?) {
        func first(_ names: String...) -> (name: String, value: String)? {
            for name in names {
                if let value = value(name) { return (name, value) }
            }
            return nil
        }
        let all = first("all_proxy", "ALL_PROXY")
        routesByScheme["http"] = Self.route(first("http_proxy") ?? all)
        routesByScheme["https"] = Self.route(first("https_proxy", "HTTPS_PROXY") ?? all)
        let bypassed = first("no_proxy", "NO_PROXY")?.value ?? ""
        addBypassed(bypassed.split { $0 == "," || $0 == " " }.map(String.init))
    }

    /// Returns the proxy for `url`; `nil` for a direct connection.
    func server(for url: URL) throws(WebImageError) -> ProxyServer? {
        guard let route = routesByScheme[url.scheme?.lowercased() ?? ""], !bypassesEverything else { return nil }
        let host = url.canonicalHost ?? ""
        if bypassedHosts.contains(where: { $0.matches(host) }) { return nil }
        if let address = IPAddress(host: host), bypassedNetworks.contains(where: { $0.contains(address) }) {
            return nil
        }
        switch route {
        case .through(let server): return server
        case .unusable(let variable): throw .invalidRequest(reason: .invalidProxy(variable: variable), url: url)
        }
    }

    /// As in `no_proxy`, `*` is everything, and a name includes its subdomains.
    private mutating func addBypassed(_ entries: [String]) {
        for entry in entries where !entry.isEmpty {
            if entry == "*" {
                bypassesEverything = true
            } else if let network = IPNetwork(entry) {
                bypassedNetworks.append(network)
            } else {
                bypassedHosts.append(HostPattern(entry.hasPrefix(".") || entry.contains("*") ? entry : "." + entry))
            }
        }
    }

    private static func route(_ variable: (name: String, value: String)?) -> Route? {
        guard let (name, text) = variable, !text.isEmpty else { return nil }
        let server = URL(string: text.contains("://") ? text : "http://" + text).flatMap { try? ProxyServer($0) }
        return server.map { .through($0) } ?? .unusable(variable: name)
    }
}
