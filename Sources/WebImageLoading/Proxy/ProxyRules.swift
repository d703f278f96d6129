internal import FoundationEssentials
internal import Glibc
internal import WebImageCore

/// Which proxy a URL goes through. Decided here and not in libcurl, since the address policy has to know.
struct ProxyRules: Sendable {
    private enum Route {
        case through(ProxyServer)
        /// What the environment variable of that name says is no proxy's address. Loads fail then: who set it did not want
        /// them to go directly.
        case unusable(variable: String)
    }

    private var routesByScheme: [String: Route] = [:]
    private var bypassesEverything = false
    private var bypassedHosts: [HostPattern] = []
    private var bypassedNetworks: [IPNetwork] = []

    init(_ proxy: ImageDownloader.Proxy) {
        switch proxy {
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

    /// As curl reads it: `http_proxy` in lower case only, since a web server sets `HTTP_PROXY` for its CGI programs to what
    /// a client sends (CVE-2016-5385); the others in either case.
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

    /// `nil`: straight to the server.
    func server(for url: URL) throws(WebImageError) -> ProxyServer? {
        guard let route = routesByScheme[url.scheme?.lowercased() ?? ""], !bypassesEverything else { return nil }
        let host = url.canonicalHost ?? ""
        if bypassedHosts.contains(where: { $0.matches(host) }) { return nil }
        if let address = IPAddress(host: host), bypassedNetworks.contains(where: { $0.contains(address) }) {
            return nil
        }
        switch route {
        case .through(let server): return server
        case .unusable(let variable): throw .invalidProxy(variable: variable, url: url)
        }
    }

    /// `*` is everything, an address or network itself, and a name itself and all below it, as in `no_proxy`.
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
