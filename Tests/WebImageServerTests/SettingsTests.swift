import Foundation
import Testing
import WebImage
import WebImageTestSupport

@testable import WebImageServer
@testable import WebImageService

@Suite(.timeLimit(.minutes(1)))
struct SettingsTests {
    private func settings(
        _ arguments: [String] = [], environment: [String: String] = [:]
    ) throws -> (settings: ServerSettings, warnings: [String]) {
        guard case .run(let options) = try CommandLineOptions.request(arguments) else {
            throw Setting.Invalid("it only prints")
        }
        var reader = SettingsReader()
        try reader.read(options: options, environment: environment)
        return (reader.settings, reader.warnings)
    }

    /// A value that each setting accepts, and one that it refuses; `nil` if it takes any text.
    private static let values: [String: (valid: String, invalid: String?)] = [
        "bind": (":1", nil), "max-clients": ("5", "0"), "read-request-timeout": ("1.5", "-1"),
        "keep-alive-timeout": ("3", "x"),
        "write-response-timeout": ("3", "inf"), "sending-memory": ("64M", "x"), "graceful-stop-timeout": ("0", "-1"),
        "log-requests": ("false", "maybe"),
        "key": ("aa,bb", nil), "salt": ("cc", nil), "signature-size": ("8", "33"), "trusted-signatures": ("a,b", nil),
        "secret": ("open sesame", nil), "max-redirects": ("0", "-1"), "unsigned": ("true", "x"),
        "path-prefix": ("/i", nil), "presets": ("a=w:1,b=h:2", "w:1"),
        "presets-path": ("FILE", "/none"),
        "arguments-separator": ("--", ""), "base64-file-name": ("true", "x"), "limit-options": ("true", "x"),
        "allow-origin": ("*", nil),
        "only-presets": ("1", "2"), "client-hints": ("t", "u"), "allowed-sources": ("https://a/", nil),
        "base-url": ("https://a/", nil),
        "local-root": ("/tmp", nil), "s3": ("true", "x"), "s3-endpoint": ("https://a", nil), "s3-region": ("r", nil),
        "allow-loopback": ("true", "x"), "allow-private": ("true", "x"), "allow-link-local": ("true", "x"),
        "upload-to": ("local:///a", nil), "upload-options": ("raw:1", nil), "upload-url-options": ("w:1", nil),
        "upload-formats": ("jpg,png", "exe"), "upload-max-size": ("1M", "0"), "upload-trailing-bytes": ("true", "x"),
        "download-timeout": ("5", "x"), "auto-avif": ("false", "x"), "auto-webp": ("false", "x"),
        "auto-jxl": ("true", "x"),
        "autoquality-method": ("dssim", "ml"), "autoquality-target": ("0.01", "2"),
        "autoquality-allowed-error": ("0.1", "x"), "autoquality-min": ("20", "0"), "autoquality-max": ("80", "101"),
        "autoquality-format-min": ("avif=60", "gif=1"), "autoquality-format-max": ("avif=65,jpg=90", "avif=0"),
        "quality": ("50", "101"), "format-quality": ("webp=50,avif=40", "exe=1"), "watermark": ("FILE", "/none"),
        "watermark-data": ("AAAA", "%"), "watermark-opacity": ("0.5", "2"), "fallback": ("FILE", "/none"),
        "fallback-data": ("AAAA", "%"),
        "fallback-status": ("0", "100"), "ttl": ("60", "x"), "cache-control-passthrough": ("true", "x"),
        "cache": ("/tmp/c", nil),
        "cache-size": ("500M", "500X"), "memory": ("0", "-1"), "shared": ("s3://abc/d", nil),
        "shared-timeout": ("1", "x"), "workers": ("2", "0"),
        "queue": ("0", "-1"), "timeout": ("9", "x"), "max-src-resolution": ("16.8", "x"),
        "max-src-file-size": ("1K", "k"), "max-decode-time": ("20", "0"),
        "max-animation-frames": ("1", "0"), "max-result-dimension": ("1", "-1"), "isolation": ("libraries", "never"),
    ]

    @Test func everySettingHasAnEffectAndRefusesWhatIsInvalid() throws {
        #expect(Set(Self.values.keys) == Set(Setting.all.map(\.name)))
        #expect(Set(Setting.all.map(\.variable)).count == Setting.all.count)
        let file = try TemporaryDirectory()
        try file.write(Data("a=w:1\n".utf8), to: "presets")
        for setting in Setting.all {
            let (value, invalid) = try #require(Self.values[setting.name])
            var (before, after) = ("", "")
            dump(ServerSettings(), to: &before)
            let valid = value == "FILE" ? file.path("presets") : value
            let changed = try settings(environment: [setting.variable: valid]).settings
            dump(changed, to: &after)
            #expect(before != after, "\(setting.name)")
            guard let invalid else { continue }
            #expect(throws: StartFailure.self, "\(setting.name)") {
                try settings(["--\(setting.name)=\(invalid)"])
            }
            let failure = #expect(throws: StartFailure.self) {
                try settings(environment: [setting.variable: invalid])
            }
            #expect(failure?.description.hasPrefix(setting.variable + " ") == true)
        }
    }

    @Test func optionsPrecedeTheEnvironmentAndThatTheFile() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write(
            Data("# a comment\n\nIMGPROXY_QUALITY=10\nIMGPROXY_WORKERS='3'\nIMGPROXY_TTL=\"60\"\n".utf8),
            to: "server.conf")
        let path = file.path(percentEncoded: false)
        let found = try settings(
            ["--quality", "30", "--unsigned"],
            environment: [
                "WEBIMAGE_CONFIG": path, "IMGPROXY_QUALITY": "20", "IMGPROXY_WORKERS": "4", "IMGPROXY_FOO": "1",
            ])
        #expect(found.settings.service.quality == 30 && found.settings.service.limits.workCount == 4)
        #expect(found.settings.service.lifetime == .seconds(60) && found.settings.allowsUnsigned)
        #expect(found.warnings == ["IMGPROXY_FOO is ignored: there is no such setting"])
        for text in ["quality", "IMGPROXY_QUALITY=x"] {
            try directory.write(Data(("\n" + text).utf8), to: "bad.conf")
            let failure = #expect(throws: StartFailure.self) {
                try settings(["--config", directory.path("bad.conf")])
            }
            #expect(failure?.description.contains("bad.conf:2") == true)
        }
        #expect(throws: StartFailure.self) { try settings(["--config=/none"]) }
    }

    @Test func whatImgproxyMeansByZeroIsMeantHere() throws {
        let found = try settings(environment: [
            "IMGPROXY_REQUESTS_QUEUE_SIZE": "0", "IMGPROXY_MAX_SRC_FILE_SIZE": "0",
            "IMGPROXY_MAX_ANIMATION_FRAMES": "1", "IMGPROXY_MAX_RESULT_DIMENSION": "0",
            "IMGPROXY_KEEP_ALIVE_TIMEOUT": "0",
        ])
        #expect(found.settings.service.limits.resultSide == 0)
        // The server then closes each connection.
        #expect(found.settings.limits.times.idle == .zero)
        #expect(found.settings.service.limits.queueLength == 100_000)
        #expect(found.settings.service.limits.sourceByteCount == 2 << 30)
        // There it cuts animations, here it would refuse them.
        #expect(found.settings.service.limits.frameCount == 1000)
        #expect(
            found.warnings == [
                "IMGPROXY_MAX_ANIMATION_FRAMES is ignored: it cuts animations; WEBIMAGE_MAX_ANIMATION_FRAMES refuses longer ones"
            ])
    }

    private static let harmless = [
        "IMGPROXY_INFO_ONLY_PRESETS": ["0", "false", "False", "f", "no"],
        "IMGPROXY_MAX_ANIMATION_FRAME_RESOLUTION": ["0"],
    ]

    /// A server that ignored them would allow more than it did under imgproxy.
    @Test(arguments: [
        ("IMGPROXY_ALLOWED_PROCESSING_OPTIONS", "rs,q", "IMGPROXY_ONLY_PRESETS"),
        ("IMGPROXY_INFO_ONLY_PRESETS", "true", "IMGPROXY_ONLY_PRESETS"),
        ("IMGPROXY_MAX_ANIMATION_FRAME_RESOLUTION", "5", "IMGPROXY_MAX_SRC_RESOLUTION"),
        ("IMGPROXY_S3_ALLOWED_BUCKETS", "a,b", "IMGPROXY_ALLOWED_SOURCES"),
        ("IMGPROXY_S3_DENIED_BUCKETS", "0", "IMGPROXY_ALLOWED_SOURCES"),
    ])
    func restrictionsThatAreNotSupportedEndTheStart(name: String, value: String, instead: String) throws {
        let directory = try TemporaryDirectory()
        try directory.write(Data("\(name)=\"\(value)\"\n".utf8), to: "server.conf")
        for (arguments, environment) in [
            ([], [name: value]), (["--config", directory.path("server.conf")], [:]),
        ] as [([String], [String: String])] {
            let failure = #expect(throws: StartFailure.self) {
                try settings(arguments, environment: environment)
            }
            #expect(failure?.status == 2 && failure?.description.hasPrefix(name) == true)
            #expect(failure?.description.contains(instead) == true)
        }
        // These restrict nothing.
        for harmless in [""] + (Self.harmless[name] ?? []) {
            let warnings = try settings(environment: [name: harmless]).warnings
            #expect(warnings == ["\(name) is ignored: there is no such setting"])
        }
    }

    /// All variables of imgproxy 4.0 without a part of its paid version.
    private static let variablesOfImgproxy = """
        ABS_ALLOWED_BUCKETS ABS_DENIED_BUCKETS ABS_ENDPOINT ABS_KEY ABS_NAME AIRBRAKE_ENVIRONMENT AIRBRAKE_PROJECT_ID
        AIRBRAKE_PROJECT_KEY ALLOWED_PROCESSING_OPTIONS ALLOWED_SOURCES ALLOW_LINK_LOCAL_SOURCE_ADDRESSES
        ALLOW_LOOPBACK_SOURCE_ADDRESSES ALLOW_ORIGIN ALLOW_PRIVATE_SOURCE_ADDRESSES ALLOW_SECURITY_OPTIONS ALWAYS_RASTERIZE_SVG
        ARGUMENTS_SEPARATOR AUTO_AVIF AUTO_JXL AUTO_ROTATE AUTO_WEBP AVIF_SPEED BASE64_URL_INCLUDES_FILENAME BASE_URL BIND
        BUGSNAG_KEY BUGSNAG_STAGE CACHE_CONTROL_PASSTHROUGH CLIENT_KEEP_ALIVE_TIMEOUT CLOUD_WATCH_NAMESPACE CLOUD_WATCH_REGION
        CLOUD_WATCH_SERVICE_NAME COOKIE_BASE_URL COOKIE_PASSTHROUGH COOKIE_PASSTHROUGH_ALL DATADOG_ENABLE
        DATADOG_ENABLE_ADDITIONAL_METRICS DATADOG_PROPAGATE_EXTERNAL DEVELOPMENT_ERRORS_MODE DISABLE_SHRINK_ON_LOAD
        DOWNLOAD_TIMEOUT ENABLE_CLIENT_HINTS ENABLE_DEBUG_HEADERS ENFORCE_AVIF ENFORCE_JXL ENFORCE_THUMBNAIL ENFORCE_WEBP
        ENV_AWS_SECRET_ID ENV_AWS_SECRET_REGION ENV_AWS_SECRET_VERSION_ID ENV_AWS_SECRET_VERSION_STAGE
        ENV_AWS_SSM_PARAMETERS_PATH ENV_AWS_SSM_PARAMETERS_REGION ENV_GCP_KEY ENV_GCP_SECRET_ID ENV_GCP_SECRET_PROJECT_ID
        ENV_GCP_SECRET_VERSION_ID ENV_LOCAL_FILE_PATH ETAG_BUSTER FAIL_ON_DEPRECATION FALLBACK_IMAGE_DATA
        FALLBACK_IMAGE_HTTP_CODE FALLBACK_IMAGE_PATH FALLBACK_IMAGE_TTL FALLBACK_IMAGE_URL FORMAT_QUALITY FREE_MEMORY_INTERVAL
        GCS_ALLOWED_BUCKETS GCS_DENIED_BUCKETS GCS_ENDPOINT GCS_KEY GRACEFUL_STOP_TIMEOUT HEALTH_CHECK_PATH HONEYBADGER_ENV
        HONEYBADGER_KEY IGNORE_SSL_VERIFICATION JPEG_PROGRESSIVE JXL_EFFORT KEEP_ALIVE_TIMEOUT KEEP_COPYRIGHT KEY
        LAST_MODIFIED_BUSTER LOCAL_FILESYSTEM_ROOT LOG_FORMAT LOG_LEVEL LOG_MEM_STATS MAX_ANIMATION_FRAMES
        MAX_ANIMATION_FRAME_RESOLUTION MAX_CLIENTS MAX_REDIRECTS MAX_RESULT_DIMENSION MAX_SRC_FILE_SIZE MAX_SRC_RESOLUTION
        NETWORK NEW_RELIC_APP_NAME NEW_RELIC_KEY NEW_RELIC_LABELS NEW_RELIC_PROPAGATE_EXTERNAL ONLY_PRESETS
        OPEN_TELEMETRY_CLIENT_CERT OPEN_TELEMETRY_CLIENT_KEY OPEN_TELEMETRY_ENABLE OPEN_TELEMETRY_ENABLE_LOGS
        OPEN_TELEMETRY_ENABLE_METRICS OPEN_TELEMETRY_LOGGER_NAME OPEN_TELEMETRY_PROPAGATE_EXTERNAL OPEN_TELEMETRY_SERVER_CERT
        OPEN_TELEMETRY_TRACE_ID_GENERATOR PATH_PREFIX PNG_INTERLACED PNG_QUANTIZATION_COLORS PNG_QUANTIZE PNG_UNLIMITED
        PPROF_BIND PREFERRED_FORMATS PRESERVE_HDR PRESETS PRESETS_PATH PRESETS_SEPARATOR PROMETHEUS_BIND PROMETHEUS_NAMESPACE
        QUALITY READ_REQUEST_TIMEOUT REPORT_DOWNLOADING_ERRORS REPORT_IO_ERRORS REQUESTS_QUEUE_SIZE S3_ACCESS_POINTS
        S3_ALLOWED_BUCKETS S3_ASSUME_ROLE_ARN S3_ASSUME_ROLE_EXTERNAL_ID S3_DENIED_BUCKETS S3_ENDPOINT
        S3_ENDPOINT_USE_PATH_STYLE S3_REGION S3_USE_DECRYPTION_CLIENT SALT SANITIZE_SVG SECRET SENTRY_DSN SENTRY_ENVIRONMENT
        SENTRY_RELEASE SET_CANONICAL_HEADER SIGNATURE_SIZE SKIP_PROCESSING_FORMATS SOURCE_URL_QUERY_SEPARATOR SO_REUSEPORT
        STRIP_COLOR_PROFILE STRIP_METADATA SVG_UNLIMITED SWIFT_ALLOWED_BUCKETS SWIFT_API_KEY SWIFT_AUTH_URL SWIFT_AUTH_VERSION
        SWIFT_CONNECT_TIMEOUT_SECONDS SWIFT_DENIED_BUCKETS SWIFT_DOMAIN SWIFT_TENANT SWIFT_TIMEOUT_SECONDS SWIFT_USERNAME
        SYSLOG_ADDRESS SYSLOG_ENABLE SYSLOG_LEVEL SYSLOG_NETWORK SYSLOG_TAG TIFF_UNLIMITED TIMEOUT TRUSTED_SIGNATURES TTL
        URL_REPLACEMENTS USER_AGENT USE_ABS USE_ETAG USE_GCS USE_LAST_MODIFIED USE_LINEAR_COLORSPACE USE_S3 USE_SWIFT
        VIPS_CACHE_TRACE VIPS_LEAK_CHECK WATERMARK_DATA WATERMARK_OPACITY WATERMARK_PATH WATERMARK_URL WEBP_EFFORT WEBP_PRESET
        WORKERS WRITE_RESPONSE_TIMEOUT
        """.split(whereSeparator: \.isWhitespace).map { "IMGPROXY_" + $0 }

    /// Each is a setting, a restriction that ends the start, or named with a reason, and the same in a file and in the environment.
    @Test func everyVariableOfImgproxyIsTakenOrExplained() throws {
        let directory = try TemporaryDirectory()
        let settings = Set(Setting.all.map(\.variable))
        for name in Self.variablesOfImgproxy where !settings.contains(name) {
            try directory.write(Data("\(name)=1\n".utf8), to: "server.conf")
            func outcome(_ arguments: [String], _ environment: [String: String]) -> String {
                do {
                    return try self.settings(arguments, environment: environment).warnings.joined()
                } catch {
                    return "\(error)"
                }
            }
            let text = outcome([], [name: "1"])
            let inFile = outcome(["--config", directory.path("server.conf")], [:])
            #expect(inFile.hasSuffix(text) && !text.isEmpty, "\(text) \(inFile)")
            #expect(!text.contains("no such setting"), "\(text)")
        }
    }

    @Test func unknownVariablesAreReported() throws {
        let directory = try TemporaryDirectory()
        try directory.write(Data("IMGPROXY_NOPE=1\nWEBIMAGE_NOPE=2\nnope=3\n".utf8), to: "server.conf")
        let path = directory.path("server.conf")
        #expect(
            try settings(["--config", path]).warnings == [
                "\(path):1: IMGPROXY_NOPE is ignored: there is no such setting",
                "\(path):2: WEBIMAGE_NOPE is ignored: there is no such setting",
                "\(path):3: nope is ignored: there is no such setting",
            ])
        let environment = ["IMGPROXY_NOPE": "1", "WEBIMAGE_NOPE": "2", "nope": "3", "WEBIMAGE_SHARED_SECRET": "x"]
        #expect(
            try settings(environment: environment).warnings == [
                "IMGPROXY_NOPE is ignored: there is no such setting",
                "WEBIMAGE_NOPE is ignored: there is no such setting",
            ])
    }

    @Test func uploadsAreOffUnlessTheyHaveAPlace() throws {
        #expect(try settings(["--unsigned", "--upload-max-size=1M"]).settings.configuration().uploads == nil)
        let found = try settings([
            "--unsigned", "--upload-to=local:///a", "--upload-options=raw:1", "--upload-formats=png,jpg",
            "--upload-max-size=1M", "--download-timeout=7",
        ]).settings
        let uploads = try #require(found.configuration().uploads)
        #expect(uploads.destination == "local:///a" && uploads.policy.results.map(\.value) == ["raw:1"])
        #expect(uploads.policy.formats == [.png, .jpeg] && uploads.policy.byteLimit == 1 << 20)
        #expect(uploads.urlOptions == nil && !uploads.policy.allowsTrailingBytes)
        // The server closes what the service has given up.
        #expect(found.serverLimits.bodyByteCount == 2 << 20 && found.serverLimits.times.body == .seconds(12))
    }

    @Test func redirectsHaveALimit() throws {
        func limit(_ arguments: String...) throws -> Int? {
            let loaders = try settings(["--unsigned"] + arguments).settings.configuration().images.loaders.loaders
            return (loaders.first as? ImageDownloader)?.configuration.maximumRedirects
        }
        #expect(try limit() == 10)
        #expect(try limit("--max-redirects=0") == 0)
    }

    @Test(arguments: [
        ([], []), (["--allow-loopback"], ["127.0.0.0/8", "::1"]),
        (["--allow-private"], ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"]),
        (["--allow-link-local"], ["169.254.0.0/16", "fe80::/10"]),
    ])
    func networksAreAllowedOneByOne(arguments: [String], networks: [String]) throws {
        let loaders = try settings(["--unsigned"] + arguments).settings.configuration().images.loaders.loaders
        let policy = try #require(loaders.first as? ImageDownloader).configuration.addressPolicy
        #expect(policy.allowedNetworks == networks && !policy.deniedNetworks.isEmpty)
    }

    /// As systemd reads such a line.
    @Test(arguments: [("'a b'", "a b"), ("\"a'", "\"a'"), ("'a", "'a"), ("'", "'"), ("''", ""), ("a'b'", "a'b'")])
    func onlyPairsOfQuotesAreLeftOut(text: String, value: String) throws {
        let directory = try TemporaryDirectory()
        try directory.write(Data("IMGPROXY_SECRET=\(text)\n".utf8), to: "server.conf")
        #expect(try settings(["--config", directory.path("server.conf")]).settings.secret == value)
    }

    @Test func formatsHaveQualitiesOfTheirOwnWithinABound() throws {
        func bound(_ arguments: String...) throws -> ImageService.QualityBound {
            let method = ["--unsigned", "--autoquality-method=dssim"]
            return try #require(settings(method + arguments).settings.configuration().qualityBound)
        }
        #expect(try bound().formatQualities.isEmpty)
        let other = try bound(
            "--autoquality-min=40", "--autoquality-max=80", "--autoquality-format-min=avif=60,jpg=50",
            "--autoquality-format-max=avif=65,webp=70")
        #expect(other.qualities == 40...80)
        #expect(other.formatQualities == [.avif: 60...65, .jpeg: 50...80, .webp: 40...70])
        // Also where paths name the method.
        let paths = try settings(["--unsigned", "--autoquality-format-min=avif=60"]).settings.configuration()
        #expect(paths.qualityBound == nil && paths.optionQualityBound.formatQualities == [.avif: 60...95])
        let failure = #expect(throws: Setting.Invalid.self) { try bound("--autoquality-format-min=avif=96") }
        #expect(failure?.description.contains("avif is above its highest: 96, 95") == true)
        #expect(throws: Setting.Invalid.self) { try bound("--autoquality-min=81", "--autoquality-max=80") }
    }

    @Test func aPlaceThatSystemdOverridesIsReported() throws {
        let named = try settings(environment: ["IMGPROXY_BIND": ":8080"]).settings
        #expect(named.warning(inheritedCount: 1)?.contains("IMGPROXY_BIND") == true)
        #expect(named.warning(inheritedCount: 0) == nil)
        #expect(try settings().settings.warning(inheritedCount: 1) == nil)
    }

    @Test func longTimesOfConnectionsHold() throws {
        let times = try settings(["--keep-alive-timeout=600"]).settings.limits.times
        #expect(HTTPServer.idleSeconds(times) > 600)
        #expect(HTTPServer.idleSeconds(try settings(["--keep-alive-timeout=1e9"]).settings.limits.times) > 1_000_000)
    }

    @Test(arguments: [["--nope"], ["nope"], ["--quality"], ["-x"], ["--quality=1", "extra"]])
    func unknownArgumentsAreRefused(arguments: [String]) {
        #expect(throws: (any Error).self) { try settings(arguments) }
    }

    @Test func aServiceWithoutAKeyIsOnlyForDevelopment() throws {
        #expect(throws: Setting.Invalid.self) { try settings().settings.configuration() }
        #expect(try settings(["--unsigned"]).settings.configuration().keys.isEmpty)
        #expect(try settings(["--key=aa,bb", "--salt=cc,dd"]).settings.configuration().keys.count == 2)
        for arguments in [["--key=aa,bb", "--salt=cc"], ["--key=xx", "--salt=cc"], ["--key=aa"]] {
            #expect(throws: Setting.Invalid.self) { try settings(arguments).settings.configuration() }
        }
        #expect(throws: Setting.Invalid.self) { try settings(["--unsigned", "--shared=x"]).settings.configuration() }
        #expect(throws: Setting.Invalid.self) {
            try settings(["--unsigned", "--s3", "--s3-endpoint=::"]).settings.configuration()
        }
    }

    @Test func theOrderOfFormatsIsOurs() throws {
        #expect(try settings(["--unsigned"]).settings.configuration().offeredFormats == [.avif, .webp])
        let formats = try settings(["--unsigned", "--auto-jxl=true", "--auto-avif", "false"]).settings.configuration()
            .offeredFormats
        #expect(formats == [.jpegXL, .webp])
    }
}
