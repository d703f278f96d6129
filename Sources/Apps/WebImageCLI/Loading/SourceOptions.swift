internal import CommandReference
internal import FoundationEssentials
internal import ProgramSupport
internal import WebImage
internal import WebImageShared

/// The sources from which `get` and `info` load images, and their settings.
struct SourceOptions: Sendable {
    /// The disk cache to use.
    enum Cache: Sendable {
        /// The tool's own cache, in the user's cache directory.
        case standard
        case directory(String)
    }

    /// A cache in an S3 store behind the disk cache; `nil` for none.
    var shared: S3Location?
    /// `nil` for no disk cache.
    var cache: Cache? = .standard
    var policy = CachePolicy.cacheFirst
    var headers: [String: String] = [:]
    /// The headers that are not part of cache keys.
    var harmlessHeaders = HarmlessHeaders.standard
    /// The credential for HTTP authentication.
    var credential: Credential?
    /// Whether cookies of a response are sent with later requests of the run.
    var handlesCookies = false
    /// Whether invalid certificates are accepted. Insecure: allows interception.
    var allowsInvalidCertificates = false
    /// A PEM file with the trusted authorities, instead of the system's.
    var authorities: String?
    /// The longest time without any data; `nil` for the library's default.
    var idleTimeout: Duration?
    /// The maximum duration of a load; `nil` for no limit.
    var totalTimeout: Duration?
    /// How often a failed load is retried.
    var retryCount = 0
    /// The number of concurrent loads, in total and per host.
    var concurrency = 6

    static let withoutCache = SourceOptions(cache: nil)

    /// The declarations of the options in a parser.
    struct Declaration {
        private let directory, shared, policy, header, harmlessHeader, user, authorities: OptionParser.Option
        private let idleTimeout, maxTime, retries: OptionParser.Option
        private let cookies, insecure: OptionParser.Flag
        /// `nil` for a command that needs the disk cache.
        private let noCache: OptionParser.Flag?

        init(in parser: OptionParser, needsCache: Bool = false) {
            parser.group = "Cache"
            directory = parser.option(
                "cache-dir", value: "DIR", completion: .directory, help: "Use this disk cache instead of the user's")
            shared = parser.option(
                "shared", value: "S3URL",
                help: "Also use this shared cache, such as s3://bucket/prefix?endpoint=https://host:9000")
            noCache = needsCache ? nil : parser.flag("no-cache", help: "Use no disk cache")
            policy = parser.option(
                "policy", value: "NAME", completion: .words(CachePolicy.allCases.map { "\($0)" }),
                help: "Cache policy: cacheFirst (default), http, refresh, reload, cacheOnly or offline")
            harmlessHeader = parser.option(
                "harmless-header", value: "NAME",
                help:
                    "Cache one image for all values of this header; NAME* for all that begin so; may be given several times"
            )

            parser.group = "Server"
            header = parser.option("header", value: "'K: V'", help: "Send this header; may be given several times")
            user = parser.option(
                "user", value: "NAME:PASSWORD", help: "Credentials for HTTP authentication (Basic or Digest)")
            cookies = parser.flag("cookies", help: "Accept cookies and send them back until the run ends")
            insecure = parser.flag(
                "insecure", help: "Accept invalid certificates. Insecure: allows interception")
            authorities = parser.option(
                "cacert", value: "FILE", completion: .file,
                help: "Trust the authorities in this PEM file instead of the system's")
            idleTimeout = parser.option(
                "idle-timeout", alias: "timeout", value: "SECONDS",
                help: "Fail if no data arrives for this long; 15 by default (also --timeout)")
            maxTime = parser.option(
                "max-time", value: "SECONDS", help: "Fail when an image takes longer to load; no limit by default")
            retries = parser.option(
                "retries", value: "N", help: "Retries after an error that may be temporary; 0 by default")
        }

        func options(from parser: OptionParser) throws(ArgumentError) -> SourceOptions {
            var options = SourceOptions()
            if let path = try parser.text(of: directory, content: "a directory") {
                if noCache?.isSet == true { throw parser.error("--cache-dir and --no-cache cannot be used together") }
                options.cache = .directory(path)
            } else if noCache?.isSet == true {
                options.cache = nil
            }
            options.shared = try parser.location(shared)
            if let text = policy.value {
                guard let policy = CachePolicy.allCases.first(where: { "\($0)" == text }) else {
                    let names = CachePolicy.allCases.map { "\($0)" }.joined(separator: ", ")
                    throw parser.error("--policy takes one of \(names), not '\(text)'")
                }
                options.policy = policy
            }
            options.headers = try parser.headers(header)
            for name in try parser.headerNames(harmlessHeader) {
                options.harmlessHeaders.insert(name)
            }
            options.credential = try parser.credential(user)
            options.handlesCookies = cookies.isSet
            options.allowsInvalidCertificates = insecure.isSet
            if let path = try parser.text(of: authorities, content: "a file") {
                if insecure.isSet { throw parser.error("--cacert and --insecure cannot be used together") }
                options.authorities = path
            }
            options.idleTimeout = try parser.seconds(idleTimeout)
            options.totalTimeout = try parser.seconds(maxTime)
            options.retryCount = try parser.count(retries, in: 0...100) ?? options.retryCount
            return options
        }
    }
}

extension OptionParser {
    /// The value of `--shared`; the keys come from the environment.
    func location(_ option: Option) throws(ArgumentError) -> S3Location? {
        guard let text = option.value else { return nil }
        guard let location = try? S3Location(text) else {
            throw error(
                """
                --shared takes s3://BUCKET/PREFIX?endpoint=URL&region=NAME&style=path|host, without keys: those are in \
                AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY
                """)
        }
        return location
    }
}

extension SourceOptions.Cache {
    /// The directory of the cache, which may not exist yet.
    var path: String {
        switch self {
        case .standard:
            DiskCache.Configuration.defaultDirectory(application: ProgramDescription.webimage.name).path(
                percentEncoded: false)
        case .directory(let path): path
        }
    }

    /// - Parameter onFailure: called once for each cause when the cache cannot be used.
    func open(onFailure: @escaping @Sendable (WebImageError) -> Void) -> DiskCache {
        var configuration = DiskCache.Configuration(directory: URL(filePath: path, directoryHint: .isDirectory))
        let reported = LockedBox<[WebImageError]>([])
        configuration.onFailure = { error in
            let isNew = reported.withLock { reported in
                defer { reported.append(error) }
                return !reported.contains(error)
            }
            if isNew { onFailure(error) }
        }
        return DiskCache(configuration: configuration)
    }
}
