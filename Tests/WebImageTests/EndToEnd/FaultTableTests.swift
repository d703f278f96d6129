import FoundationEssentials
import Testing
import WebImage
import WebImageTestSupport
@testable import WebImageCoding
@testable import WebImageLoading

/// A row of Documentation/Faults.md, which `Scripts/lint` compares with this list.
enum Fault: String, CaseIterable, Sendable {
    case refusedConnection
    case unresolvableName
    case expiredCertificate
    case certificateForAnotherHost
    case selfSignedCertificate
    case certificateFromUnknownIssuer
    case unpinnedPublicKey
    case noTLS
    case resetBeforeHeaders
    case resetInHeaders
    case resetInBody
    case closedInHeaders
    case stalledBeforeHeaders
    case stalledInBody
    case drippingSlowerThanTheIdleLimit
    case drippingSlowerThanTheLeastRate
    case drippingHeaders
    case drippingBeyondTheTotalLimit
    case slowRedirects
    case silenceBetweenInformationalResponses
    case endlessInformationalResponses
    case contentLengthTooLong
    case contentLengthTooShort
    case chunkedWithoutEnd
    case unannouncedEndOverTLS
    case resetWithoutErrorOverHTTP2
    case bytesOnAnotherStreamOverHTTP2
    case endlessChunks
    case endlessBody
    case announcedBodyTooLong
    case largeHeader
    case manyHeaders
    case endlessHeaders
    case endlessTrailers
    case notHTTP
    case invalidStatusLine
    case redirectLoop
    case redirectToFile
    case redirectToInvalidURL
    case redirectFromTLSToPlainHTTP
    case urlWithoutHost
    case invalidURLCharacters
    case invalidPort
    case lineBreakInHeader
    case gzipBomb
    case uninvitedGzip
    case uninvitedTransferCoding
    case uninvitedPart
    case noContent
    case notModified
    case webPage
    case emptyBody
    case errorStatus
    case tooManyPixels
    case tooManyFrames
    case animationTooLarge
    case tooManyScans
    case decodingTimedOut
    case metadataTooLarge
    case decodingMemoryExceeded
    case complexImage
    case crashedDecoder
    case missingDecoder
}

/// Everything that a server, or the way to it, is known to get wrong: each is an error that says what, and nothing of
/// it is kept.
@Suite(.timeLimit(.minutes(2))) struct FaultTableTests {
    private static let faults = Result { try FaultServer() }
    private static let connections = Result { try ConnectionServer() }
    private static let nginx = Result {
        let server = try NGINXServer(
            certificates: TestCertificates.Name.allCases,
            locations: "location = /downgrade.png { return 302 http://127.0.0.1:$arg_port/solid.png; }")
        try server.write(SolidPicture(1).png(), to: "solid.png")
        for name in ["animated.gif", "scan-bomb.jpg"] {
            let path = root() + "/Tests/Fixtures/images/" + name
            try server.write(Data(contentsOf: URL(filePath: path)), to: name)
        }
        try server.write(Data([0x89] + Array("PNG\r\n\u{1A}\nsegfault".utf8)), to: "crash.png")
        let filter = "<filter id='f'><feGaussianBlur stdDeviation='50'/></filter>"
        let rectangle = "<rect width='1500' height='1500' filter='url(#f)'/>"
        let drawing = filter + String(repeating: rectangle, count: 5000)
        try server.write(
            Data("<svg xmlns='http://www.w3.org/2000/svg' width='1500' height='1500'>\(drawing)</svg>".utf8),
            to: "slow.svg")
        return server
    }

    @Test(arguments: Fault.allCases.filter { !$0.endsAtALimitOfTime })
    func eachFaultHasItsOwnErrorAndLeavesNothingInACache(fault: Fault) async throws { try await check(fault) }

    /// Side by side, since each takes the second that is its limit.
    @Test func eachFaultThatEndsAtALimitOfTimeHasItsOwnErrorAndLeavesNothingInACache() async throws {
        try await withThrowingTaskGroup { group in
            for fault in Fault.allCases where fault.endsAtALimitOfTime {
                group.addTask { try await check(fault) }
            }
            try await group.waitForAll()
        }
    }

    private func check(_ fault: Fault) async throws {
        let directory = try TemporaryDirectory()
        let cache = ImageCache(
            memory: MemoryCache(costLimit: 64 << 20),
            disk: DiskCache(configuration: DiskCache.Configuration(directory: directory.url("cache"))))
        let downloader = ImageDownloader(configuration: try fault.configuration())
        guard fault.isPossible else { return }
        var configuration = WebImageManager.Configuration(
            cache: cache, loaders: [downloader], decodingLimits: fault.decodingLimits)
        try fault.isolate(&configuration)
        let manager = WebImageManager(configuration: configuration)
        let request = try fault.request(
            faults: Self.faults.get(), connections: Self.connections.get(), nginx: Self.nginx.get())

        let error = try #require(await manager.failure(of: request, asData: fault.isOfData), "\(fault)")
        #expect(fault.isExpected(error), "\(fault): \(error.caseName): \(error)")
        #expect(manager.cachedImage(for: request) == nil, "\(fault)")
        await cache.disk?.flush()
        #expect(await cache.disk?.count == 0, "\(fault)")
        #expect(downloader.loadCounts == (0, 0), "\(fault)")

        let row = try #require(try Self.row(of: fault), "Documentation/Faults.md has no row for \(fault)")
        #expect(row.contains(error.caseName), "\(row)")
        #expect(row.contains("| \(error.code) |"), "\(row)")
    }

    @Test func theServersWorkWithoutFaults() async throws {
        let nginx = try Self.nginx.get()
        let downloader = ImageDownloader(configuration: try Fault.certificateForAnotherHost.configuration())
        let manager = WebImageManager(
            configuration: WebImageManager.Configuration(
                cache: ImageCache(memory: MemoryCache(costLimit: 1 << 20), disk: nil), loaders: [downloader]))
        for url in [try nginx.url("/solid.png"), try nginx.secureURL("/solid.png")] {
            #expect(SolidPicture(1).matches(try await manager.image(at: url)))
        }
    }

    /// Of the project.
    private static func root(file: String = #filePath) -> String {
        file.split(separator: "/", omittingEmptySubsequences: false).dropLast(4).joined(separator: "/")
    }

    private static func row(of fault: Fault) throws -> String? {
        let text = try String(contentsOfFile: root() + "/Documentation/Faults.md", encoding: .utf8)
        return text.split(separator: "\n").first { $0.contains("`\(fault.rawValue)`") }.map(String.init)
    }
}

extension WebImageManager {
    fileprivate func failure(of request: WebImageRequest, asData: Bool) async -> WebImageError? {
        do throws(WebImageError) {
            if asData { _ = try await data(for: request) } else { _ = try await image(for: request) }
            return nil
        } catch {
            return error
        }
    }
}

extension WebImageError {
    /// The case with its reason as the table shows them, such as "`invalidResponse` (`emptyBody`)".
    fileprivate var caseName: String {
        guard let payload = Mirror(reflecting: self).children.first, let name = payload.label else {
            return "`\(self)`"
        }
        let reason = Mirror(reflecting: payload.value).children.first { $0.label == "reason" }?.value
        guard let reason, Mirror(reflecting: reason).displayStyle == .enum else { return "`\(name)`" }
        return "`\(name)` (`\(Mirror(reflecting: reason).children.first?.label ?? "\(reason)")`)"
    }
}

extension Fault {
    fileprivate func configuration() throws -> ImageDownloader.Configuration {
        var configuration = ImageDownloader.Configuration()
        configuration.proxy = .none
        // Where nothing is to stall, a busy machine gets its time.
        switch self {
        case .stalledBeforeHeaders, .stalledInBody, .drippingSlowerThanTheIdleLimit,
            .silenceBetweenInformationalResponses:
            configuration.idleTimeout = .seconds(1)
        case .drippingSlowerThanTheLeastRate, .drippingHeaders:
            configuration.minimumBytesPerSecond = 1024
            configuration.minimumRateWindow = .seconds(1)
        case .drippingBeyondTheTotalLimit, .slowRedirects: configuration.totalTimeout = .seconds(1)
        default: break
        }
        configuration.maximumResponseByteCount = 1 << 20
        let certificates = try TestCertificates.shared.get()
        if self != .certificateFromUnknownIssuer {
            configuration.certificateAuthorities = .file(certificates.authority)
        }
        if self == .unpinnedPublicKey {
            configuration.pinnedPublicKeys = ["*": [Data(count: 32).base64EncodedString()]]
        }
        if self == .gzipBomb { configuration.headers["Accept-Encoding"] = "gzip, deflate" }
        return configuration
    }

    fileprivate var endsAtALimitOfTime: Bool {
        switch self {
        case .stalledBeforeHeaders, .stalledInBody, .drippingSlowerThanTheIdleLimit, .drippingSlowerThanTheLeastRate,
            .drippingHeaders, .drippingBeyondTheTotalLimit, .slowRedirects, .silenceBetweenInformationalResponses:
            true
        default: false
        }
    }

    fileprivate var decodingLimits: DecodingLimits {
        var limits = DecodingLimits()
        switch self {
        case .tooManyPixels: limits.pixelCount = 1
        case .tooManyFrames: limits.frameCount = 2
        case .animationTooLarge: limits.animationByteCount = 1000
        case .decodingTimedOut: limits.processorTime = .seconds(0)
        case .metadataTooLarge: limits.metadataByteCount = 100
        case .decodingMemoryExceeded: limits.memoryByteCount = 100
        case .complexImage: limits.processorTime = .seconds(1)
        default: break
        }
        return limits
    }

    /// Whether it is looked for in bytes of any kind: a decoder would notice that the rest of an image is missing.
    fileprivate var isOfData: Bool {
        [.unannouncedEndOverTLS, .resetWithoutErrorOverHTTP2, .bytesOnAnotherStreamOverHTTP2].contains(self)
    }

    fileprivate func request(
        faults: FaultServer, connections: ConnectionServer, nginx: NGINXServer
    ) throws -> WebImageRequest {
        var headers: [String: String] = [:]
        if self == .lineBreakInHeader { headers["X-Note"] = "a\r\nHost: other.example" }
        let url = try url(faults: faults, connections: connections, nginx: nginx)
        return WebImageRequest(url, headers: headers)
    }

    private func url(faults: FaultServer, connections: ConnectionServer, nginx: NGINXServer) throws -> URL {
        switch self {
        case .refusedConnection: try parsed("http://127.0.0.1:\(refusedPort())/a.png")
        case .unresolvableName: try parsed("http://\(String(repeating: "a", count: 64)).example/a.png")
        case .expiredCertificate: try nginx.secureURL("/solid.png", certificate: .expired)
        case .certificateForAnotherHost: try nginx.secureURL("/solid.png", certificate: .wrongHost)
        case .selfSignedCertificate: try nginx.secureURL("/solid.png", certificate: .selfSigned)
        case .certificateFromUnknownIssuer, .unpinnedPublicKey: try nginx.secureURL("/solid.png")
        case .noTLS: try parsed("https://127.0.0.1:\(nginx.port)/solid.png")
        case .resetBeforeHeaders: try faults.url("/reset")
        case .resetInHeaders: try faults.url("/reset-headers")
        case .resetInBody: try faults.url("/reset-body")
        case .closedInHeaders: try faults.url("/cut-headers")
        case .stalledBeforeHeaders: try faults.url("/stall-headers")
        case .stalledInBody: try faults.url("/stall-body")
        case .drippingSlowerThanTheIdleLimit: try faults.url("/drip?interval=60")
        case .drippingSlowerThanTheLeastRate: try faults.url("/drip?size=1000")
        case .drippingHeaders: try faults.url("/drip-head")
        case .drippingBeyondTheTotalLimit: try faults.url("/drip?size=1000")
        case .slowRedirects: try faults.url("/redirect-chain?left=9&wait=0.3")
        case .silenceBetweenInformationalResponses: try faults.url("/informational?count=19&interval=0.2")
        case .endlessInformationalResponses: try faults.url("/informational")
        case .contentLengthTooLong: try faults.url("/cut-body")
        case .contentLengthTooShort: try faults.url("/short-picture")
        case .chunkedWithoutEnd: try faults.url("/cut-chunked")
        case .unannouncedEndOverTLS: try connections.url(.tls, "/unclosed")
        case .resetWithoutErrorOverHTTP2: try connections.url(.http2Reset, "/a.png")
        case .bytesOnAnotherStreamOverHTTP2: try connections.url(.http2Stray, "/a.png")
        case .endlessChunks: try faults.url("/endless-chunked")
        case .endlessBody: try faults.url("/endless")
        case .announcedBodyTooLong: try faults.url("/huge-length")
        case .largeHeader: try faults.url("/large-header")
        case .manyHeaders: try faults.url("/many-headers")
        case .endlessHeaders: try faults.url("/endless-headers")
        case .endlessTrailers: try faults.url("/endless-trailers")
        case .notHTTP: try faults.url("/not-http")
        case .invalidStatusLine: try faults.url("/bad-status")
        case .redirectLoop: try faults.url("/redirect-loop")
        case .redirectToFile: try faults.url("/redirect?to=file:///etc/hostname")
        case .redirectToInvalidURL: try faults.url("/redirect?to=http://exa%20mple:port%3C/a")
        case .redirectFromTLSToPlainHTTP: try nginx.secureURL("/downgrade.png?port=\(nginx.port)")
        case .urlWithoutHost: try parsed("http:///a.png")
        case .invalidURLCharacters: try parsed("http://exa%20mple/a.png")
        case .invalidPort: try parsed("http://127.0.0.1:99999/a.png")
        case .lineBreakInHeader: try nginx.url("/solid.png")
        case .gzipBomb, .uninvitedGzip: try faults.url("/gzip-bomb")
        case .uninvitedTransferCoding: try faults.url("/coded-transfer")
        case .uninvitedPart: try faults.url("/answer?code=206")
        case .noContent: try faults.url("/no-content")
        case .notModified: try faults.url("/not-modified")
        case .webPage: try faults.url("/html")
        case .emptyBody: try faults.url("/empty")
        case .errorStatus: try faults.url("/status")
        case .tooManyPixels, .decodingTimedOut, .decodingMemoryExceeded, .missingDecoder:
            try nginx.url("/solid.png")
        case .crashedDecoder: try nginx.url("/crash.png")
        case .complexImage: try nginx.url("/slow.svg")
        case .tooManyFrames, .animationTooLarge: try nginx.url("/animated.gif")
        case .tooManyScans, .metadataTooLarge: try nginx.url("/scan-bomb.jpg")
        }
    }

    private func parsed(_ text: String) throws -> URL { try #require(URL(string: text)) }

    /// libcurl's numbers are those of curl's manual page.
    fileprivate func isExpected(_ error: WebImageError) -> Bool {
        switch (self, error) {
        case (.refusedConnection, .transport(7, _, _)), (.unresolvableName, .transport(6, _, _)),
            (.noTLS, .transport(35, _, _)),
            (.resetBeforeHeaders, .transport(56, _, _)), (.resetInHeaders, .transport(56, _, _)),
            (.resetInBody, .transport(56, _, _)), (.closedInHeaders, .transport(52, _, _)),
            (.notHTTP, .transport(1, _, _)), (.invalidStatusLine, .transport(1, _, _)),
            (.expiredCertificate, .certificate(.expired, _)),
            (.certificateForAnotherHost, .certificate(.wrongHost, _)),
            (.selfSignedCertificate, .certificate(.selfSigned, _)),
            (.certificateFromUnknownIssuer, .certificate(.unknownIssuer, _)),
            (.unpinnedPublicKey, .certificate(.publicKeyNotPinned, _)),
            (.stalledBeforeHeaders, .timedOut(.idle, .seconds(1), _)),
            (.stalledInBody, .timedOut(.idle, .seconds(1), _)),
            (.drippingSlowerThanTheIdleLimit, .timedOut(.idle, .seconds(1), _)),
            (.drippingSlowerThanTheLeastRate, .timedOut(.slow(1024), .seconds(1), _)),
            (.drippingHeaders, .timedOut(.slow(1024), .seconds(1), _)),
            (.drippingBeyondTheTotalLimit, .timedOut(.total, .seconds(1), _)),
            (.slowRedirects, .timedOut(.total, .seconds(1), _)),
            (.silenceBetweenInformationalResponses, .timedOut(.idle, .seconds(1), _)),
            (.endlessInformationalResponses, .invalidResponse(.tooManyInformationalResponses(20), _)),
            (.contentLengthTooLong, .invalidResponse(.truncated(100_000, 5000), _)),
            (.chunkedWithoutEnd, .invalidResponse(.truncated(nil, 1000), _)),
            (.unannouncedEndOverTLS, .invalidResponse(.truncated(nil, 10), _)),
            (.resetWithoutErrorOverHTTP2, .invalidResponse(.truncated(nil, 5), _)),
            (.bytesOnAnotherStreamOverHTTP2, .invalidResponse(.truncated(nil, 5), _)),
            (.contentLengthTooShort, .decoding(.png, .truncated, _)),
            (.endlessChunks, .invalidResponse(.bodyTooLong, _)), (.endlessBody, .invalidResponse(.bodyTooLong, _)),
            (.announcedBodyTooLong, .invalidResponse(.bodyTooLong(1_000_000_000_000, _), _)),
            (.gzipBomb, .invalidResponse(.bodyTooLong, _)),
            (.largeHeader, .invalidResponse(.headersTooLong, _)), (.manyHeaders, .invalidResponse(.headersTooLong, _)),
            (.endlessHeaders, .invalidResponse(.headersTooLong, _)),
            (.endlessTrailers, .invalidResponse(.headersTooLong, _)),
            (.uninvitedTransferCoding, .invalidResponse(.contentCoding("gzip"), _)),
            (.uninvitedPart, .httpStatus(206, _)),
            (.redirectLoop, .invalidResponse(.tooManyRedirects(10), _)),
            (.redirectToFile, .invalidRequest(.unsupportedScheme("file"), _)),
            (.redirectToInvalidURL, .invalidURL), (.urlWithoutHost, .invalidURL),
            (.invalidURLCharacters, .invalidURL), (.invalidPort, .invalidURL),
            (.redirectFromTLSToPlainHTTP, .blocked(.insecureRedirect(_), _)),
            (.lineBreakInHeader, .invalidRequest(.invalidHeader("X-Note"), _)),
            (.uninvitedGzip, .invalidResponse(.contentCoding("gzip"), _)),
            (.noContent, .invalidResponse(.emptyBody, _)), (.emptyBody, .invalidResponse(.emptyBody, _)),
            (.notModified, .httpStatus(304, _)),
            (.errorStatus, .httpStatus(404, _)),
            (.webPage, .unrecognizedFormat("text/html", _, _)),
            (.tooManyPixels, .limitExceeded(.pixels(_, 1), _)),
            (.tooManyFrames, .limitExceeded(.frames(2), _)),
            (.animationTooLarge, .limitExceeded(.animation(_, 1000), _)),
            (.tooManyScans, .limitExceeded(.scans(100), _)),
            (.decodingTimedOut, .limitExceeded(.processorTime(.seconds(0)), _)),
            (.metadataTooLarge, .limitExceeded(.metadata(_, 100), _)),
            (.decodingMemoryExceeded, .limitExceeded(.memory(_, 100), _)),
            (.complexImage, .limitExceeded(.processorTime(.seconds(1)), _)),
            (.crashedDecoder, .isolation(.png, .crashed, _)), (.missingDecoder, .isolation(.png, .unavailable, _)):
            true
        default: false
        }
    }
}
