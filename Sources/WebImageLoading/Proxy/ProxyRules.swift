internal import FoundationEssentials
internal import Glibc
internal import WebImageCore

/// Which proxy a URL goes through. Decided here and not in libcurl, since the address policy has to know.
struct ProxyRules: Sendable {
    private var serversByScheme: [String: ProxyServer] = [:]
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
        serversByScheme = ["http": server, "https": server]
        addBypassed(bypassing)
    }

    /// As curl reads it: `http_proxy` in lower case only, since a web server sets `HTTP_PROXY` for its CGI programs to what
    /// a client sends (CVE-2016-5385); the others in either case. A value that is no proxy's address counts as none.
    init(environment value: (String) -> String?) {
        func either(_ name: String) -> String? { value(name) ?? value(name.uppercased()) }
        let all = either("all_proxy")
        serversByScheme["http"] = Self.server(value("http_proxy") ?? all)
        serversByScheme["https"] = Self.server(either("https_proxy") ?? all)
        let bypassed = either("no_proxy") ?? ""
        addBypassed(bypassed.split { $0 == "," || $0 == " " }.map(String.init))
    }

    /// `nil`: straight to the server.
    func server(for url: URL) -> ProxyServer? {
        guard let server = serversByScheme[url.scheme?.lowercased() ?? ""], !bypassesEverything else { return nil }
        let host = url.host(percentEncoded: false) ?? ""
        if bypassedHosts.contains(where: { $0.matches(host) }) { return nil }
        if let address = IPAddress(host: host), bypassedNetworks.contains(where: { $0.contains(address) }) {
            return nil
        }
        return server
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

    private static func server(_ text: String?) -> ProxyServer? {
        guard let text, !text.isEmpty else { return nil }
        return URL(string: text.contains("://") ? text : "http://" + text).flatMap { try? ProxyServer($0) }
    }
}
