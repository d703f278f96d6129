/// Variables of imgproxy that are not taken, each with what to do instead.
enum UnsupportedVariable {
    /// Returns why a variable is not used, for standard error.
    static func warning(_ name: String) -> String {
        let known = reasons[name] ?? groups.first { name.hasPrefix($0.prefix) }?.reason
        return known.map { "\(name) is ignored: \($0)" } ?? "\(name) is ignored: there is no such setting"
    }

    /// Names that begin alike mean parts of one thing. Longer beginnings come first.
    private static let groups: [(prefix: String, reason: String)] = [
        ("IMGPROXY_ABS_", stores), ("IMGPROXY_GCS_", stores), ("IMGPROXY_SWIFT_", stores),
        ("IMGPROXY_AIRBRAKE_", reports), ("IMGPROXY_BUGSNAG_", reports), ("IMGPROXY_HONEYBADGER_", reports),
        ("IMGPROXY_SENTRY_", reports), ("IMGPROXY_CLOUD_WATCH_", metrics), ("IMGPROXY_DATADOG_", metrics),
        ("IMGPROXY_NEW_RELIC_", metrics), ("IMGPROXY_OPEN_TELEMETRY_", metrics), ("IMGPROXY_PROMETHEUS_", metrics),
        ("IMGPROXY_ENV_", "settings come from the environment and from --config"),
        ("IMGPROXY_SYSLOG_", log), ("IMGPROXY_LOG_", log), ("IMGPROXY_COOKIE_", "sources are loaded without cookies"),
        ("IMGPROXY_VIPS_", "there is no libvips"),
    ]

    private static let stores =
        "sources come from http, https, local and s3 only; stores with an S3 interface work with --s3-endpoint"
    private static let reports = "errors are in the log on standard output"
    private static let metrics = "/metrics has counters for Prometheus"
    private static let log = "the log is a line for each request on standard output, which systemd or a container takes"
    private static let files = "encoders have fixed settings besides the quality"
    private static let validators = "results have ETag and Last-Modified, which are always answered"

    /// An option for all paths.
    private static func preset(_ option: String) -> String {
        "put \(option) into IMGPROXY_PRESETS, such as default=\(option)"
    }

    private static let reasons: [String: String] = [
        "IMGPROXY_USE_ABS": stores, "IMGPROXY_USE_GCS": stores, "IMGPROXY_USE_SWIFT": stores,
        "IMGPROXY_ALWAYS_RASTERIZE_SVG": "an SVG becomes pixels unless a path has raw or skp:svg",
        "IMGPROXY_AUTO_ROTATE": preset("ar:0"), "IMGPROXY_ENFORCE_THUMBNAIL": preset("eth:1"),
        "IMGPROXY_KEEP_COPYRIGHT": preset("kcr:1") + "; it is 0 by default", "IMGPROXY_STRIP_METADATA": preset("sm:0"),
        "IMGPROXY_STRIP_COLOR_PROFILE": preset("scp:0"), "IMGPROXY_SKIP_PROCESSING_FORMATS": preset("skp:svg"),
        "IMGPROXY_PRESERVE_HDR": "results have 8 bits for each component; gain maps are kept",
        "IMGPROXY_AVIF_SPEED": files, "IMGPROXY_JPEG_PROGRESSIVE": files, "IMGPROXY_JXL_EFFORT": files,
        "IMGPROXY_PNG_INTERLACED": files, "IMGPROXY_PNG_QUANTIZE": files, "IMGPROXY_PNG_QUANTIZATION_COLORS": files,
        "IMGPROXY_WEBP_EFFORT": files, "IMGPROXY_WEBP_PRESET": files,
        "IMGPROXY_CLIENT_KEEP_ALIVE_TIMEOUT": "connections to sources are kept as long as their servers allow",
        "IMGPROXY_DEVELOPMENT_ERRORS_MODE": "clients get one line, and the log the reason of an error",
        "IMGPROXY_DISABLE_SHRINK_ON_LOAD": "formats that can be decoded at a smaller size are",
        "IMGPROXY_USE_LINEAR_COLORSPACE": "images are scaled in sRGB",
        "IMGPROXY_ENABLE_DEBUG_HEADERS": "Cache-Status says where a result came from, and /info what a source is",
        "IMGPROXY_ENFORCE_AVIF": "the format of a path takes precedence; leave it out for the best that a client takes",
        "IMGPROXY_ENFORCE_JXL": "the format of a path takes precedence; leave it out for the best that a client takes",
        "IMGPROXY_ENFORCE_WEBP": "the format of a path takes precedence; leave it out for the best that a client takes",
        "IMGPROXY_PREFERRED_FORMATS":
            "without a format in the path, clients get one that they accept, or JPEG, PNG or GIF",
        "IMGPROXY_USE_ETAG": validators, "IMGPROXY_ETAG_BUSTER": validators, "IMGPROXY_USE_LAST_MODIFIED": validators,
        "IMGPROXY_LAST_MODIFIED_BUSTER": validators,
        "IMGPROXY_FAIL_ON_DEPRECATION": "no setting is deprecated",
        "IMGPROXY_FALLBACK_IMAGE_TTL": "clients may use a fallback image for 60 s",
        "IMGPROXY_FALLBACK_IMAGE_URL": "download the image, and set IMGPROXY_FALLBACK_IMAGE_PATH",
        "IMGPROXY_WATERMARK_URL": "download the image, and set IMGPROXY_WATERMARK_PATH",
        "IMGPROXY_FREE_MEMORY_INTERVAL": "memory is given back when it is free",
        "IMGPROXY_HEALTH_CHECK_PATH": "the pages are /health and /ready",
        "IMGPROXY_IGNORE_SSL_VERIFICATION":
            "certificates are always verified; add your authority to those of the system",
        "IMGPROXY_MAX_ANIMATION_FRAMES":
            "it cuts animations; WEBIMAGE_MAX_ANIMATION_FRAMES refuses longer ones",
        "IMGPROXY_NETWORK": "IMGPROXY_BIND also names Unix sockets, as unix:PATH",
        "IMGPROXY_SO_REUSEPORT": "systemd keeps the socket while the server restarts",
        "IMGPROXY_PNG_UNLIMITED": "limits hold for all formats",
        "IMGPROXY_SVG_UNLIMITED": "limits hold for all formats",
        "IMGPROXY_TIFF_UNLIMITED": "limits hold for all formats", "IMGPROXY_PPROF_BIND": metrics,
        "IMGPROXY_PRESETS_SEPARATOR": "presets are between commas; IMGPROXY_PRESETS_PATH has one in each line",
        "IMGPROXY_REPORT_DOWNLOADING_ERRORS": reports, "IMGPROXY_REPORT_IO_ERRORS": reports,
        "IMGPROXY_S3_ACCESS_POINTS": stores,
        "IMGPROXY_S3_ASSUME_ROLE_ARN": "the keys of a role are in AWS_SESSION_TOKEN and the other two",
        "IMGPROXY_S3_ASSUME_ROLE_EXTERNAL_ID": "the keys of a role are in AWS_SESSION_TOKEN and the other two",
        "IMGPROXY_S3_ENDPOINT_USE_PATH_STYLE": "the style follows from the endpoint",
        "IMGPROXY_S3_USE_DECRYPTION_CLIENT": "objects are sent as they are stored",
        "IMGPROXY_SANITIZE_SVG": "an SVG is sent with a Content-Security-Policy under which nothing in it runs",
        "IMGPROXY_SET_CANONICAL_HEADER": "answers do not name their source",
        "IMGPROXY_SOURCE_URL_QUERY_SEPARATOR": "a version of an object is behind a question mark",
        "IMGPROXY_URL_REPLACEMENTS": "put the place into IMGPROXY_BASE_URL",
        "IMGPROXY_USER_AGENT": "sources are told the name of the library",
    ]
}
