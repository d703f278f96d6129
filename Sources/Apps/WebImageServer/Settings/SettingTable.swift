internal import FoundationEssentials
internal import ProgramSupport
internal import WebImage
internal import WebImageCore
internal import WebImageService

extension Setting {
    /// All settings, in the order of the help.
    static let all: [Setting] = connections + urls + sources + uploads + results + caches + limits

    private static let connections: [Setting] = [
        Setting(
            name: "bind", variable: "IMGPROXY_BIND", value: "PLACE,…", group: "Connections",
            help:
                "Where to listen: ADDRESS:PORT, :PORT or unix:PATH; 127.0.0.1:8080 by default. Sockets of systemd take precedence"
        ) { settings, text throws(Invalid) in
            settings.places = SettingValue.list(text)
            settings.namesPlaces = true
        },
        integer(
            "max-clients", "IMGPROXY_MAX_CLIENTS", \.limits.connectionCount, 1...100_000, group: "Connections",
            help:
                "Connections at a time, 1024 by default. Beyond it, the one that waits the longest for a request is closed"
        ),
        seconds(
            "read-request-timeout", "IMGPROXY_READ_REQUEST_TIMEOUT", \.limits.times.head, group: "Connections",
            help: "The time for the head of a request, 10 by default"),
        seconds(
            "keep-alive-timeout", "IMGPROXY_KEEP_ALIVE_TIMEOUT", \.limits.times.idle, group: "Connections",
            help: "The time for the next request of a connection, 30 by default; 0 closes it after each answer"),
        seconds(
            "write-response-timeout", "IMGPROXY_WRITE_RESPONSE_TIMEOUT", \.limits.times.sending, group: "Connections",
            help: "The time for a client to read an answer, besides that at 16 KiB/s, 30 by default"),
        bytes(
            "sending-memory", "WEBIMAGE_SENDING_MEMORY", \.service.limits.sendingByteCount, group: "Connections",
            help:
                "The limit on results in memory that clients are reading, 256M by default; beyond it, requests get 503. Results that are read from the disk do not count"
        ),
        integer(
            "graceful-stop-timeout", "IMGPROXY_GRACEFUL_STOP_TIMEOUT", \.stopTime, 0...3600, group: "Connections",
            help: "How many seconds requests in progress have after SIGTERM, 30 by default"),
        flag(
            "log-requests", "WEBIMAGE_LOG_REQUESTS", \.logsRequests, group: "Connections",
            help: "Print a line for each request; true by default"),
    ]

    private static let urls: [Setting] = [
        list(
            "key", "IMGPROXY_KEY", \.keyDigits, "HEX,…", group: "URLs",
            help: "The keys of signatures, in hexadecimal digits"),
        list(
            "salt", "IMGPROXY_SALT", \.saltDigits, "HEX,…", group: "URLs",
            help: "The salt of each key, in hexadecimal digits"),
        integer(
            "signature-size", "IMGPROXY_SIGNATURE_SIZE", \.service.signatureByteCount, 1...32, group: "URLs",
            help: "The length of signatures in bytes, 32 by default"),
        list(
            "trusted-signatures", "IMGPROXY_TRUSTED_SIGNATURES", \.service.trustedSignatures, "TEXT,…", group: "URLs",
            help: "Texts that count as signatures of every path"),
        text(
            "secret", "IMGPROXY_SECRET", \.secret, "TEXT", group: "URLs",
            help:
                "What all requests but /health and /ready have in 'Authorization: Bearer TEXT'; others get 403. None by default"
        ),
        flag(
            "unsigned", "WEBIMAGE_UNSIGNED", \.allowsUnsigned, group: "URLs",
            help: "Accept paths without a signature if there is no key, for development"),
        text(
            "path-prefix", "IMGPROXY_PATH_PREFIX", \.service.pathPrefix, "PATH", group: "URLs",
            help: "What paths begin with, such as /images"),
        Setting(
            name: "presets", variable: "IMGPROXY_PRESETS", value: "NAME=OPTIONS,…", group: "URLs",
            help: "Names for options between slashes; those of 'default' precede the options of every path"
        ) { settings, text throws(Invalid) in try settings.addPresets(SettingValue.list(text)) },
        Setting(
            name: "presets-path", variable: "IMGPROXY_PRESETS_PATH", value: "FILE", group: "URLs",
            help: "A file with a preset in each line"
        ) { settings, text throws(Invalid) in
            let lines = String(decoding: try SettingValue.file(text), as: UTF8.self).split(whereSeparator: \.isNewline)
            try settings.addPresets(lines.map(String.init).filter { !$0.hasPrefix("#") })
        },
        flag(
            "only-presets", "IMGPROXY_ONLY_PRESETS", \.service.allowsOnlyPresets, group: "URLs",
            help: "Take names of presets in place of options"),
        Setting(
            name: "arguments-separator", variable: "IMGPROXY_ARGUMENTS_SEPARATOR", value: "TEXT", group: "URLs",
            help: "What is between the arguments of options, also in presets; ':' by default"
        ) { settings, text throws(Invalid) in
            guard !text.isEmpty, !text.contains("/") else { throw Invalid("is a text without slashes, not '\(text)'") }
            settings.service.argumentSeparator = text
        },
        flag(
            "base64-file-name", "IMGPROXY_BASE64_URL_INCLUDES_FILENAME", \.service.hasFileNames, group: "URLs",
            help: "Ignore the last part of base64 sources, which is a file name"),
        flag(
            "limit-options", "IMGPROXY_ALLOW_SECURITY_OPTIONS", \.service.allowsLimitOptions, group: "URLs",
            help: "Allow options that lower limits, such as max_src_resolution"),
        text(
            "allow-origin", "IMGPROXY_ALLOW_ORIGIN", \.allowedOrigin, "ORIGIN", group: "URLs",
            help: "The origin whose scripts may read answers, or * for all (CORS); none by default"),
        flag(
            "client-hints", "IMGPROXY_ENABLE_CLIENT_HINTS", \.service.usesClientHints, group: "URLs",
            help: "Use the width and the density that clients name where the path names none"),
    ]

    private static let sources: [Setting] = [
        list(
            "allowed-sources", "IMGPROXY_ALLOWED_SOURCES", \.service.allowedSources, "URL,…", group: "Sources",
            help:
                "The beginnings of sources, such as https://*.example.com/photos/, where * stands for any characters but slashes; everything by default"
        ),
        text(
            "base-url", "IMGPROXY_BASE_URL", \.service.baseURL, "URL", group: "Sources",
            help: "What all sources begin with"),
        Setting(
            name: "local-root", variable: "IMGPROXY_LOCAL_FILESYSTEM_ROOT", value: "FOLDER", group: "Sources",
            help: "The folder of local:/// sources"
        ) { settings, text throws(Invalid) in settings.service.folder = URL(filePath: text, directoryHint: .isDirectory)
        },
        flag(
            "s3", "IMGPROXY_USE_S3", \.usesStore, group: "Sources",
            help: "Load s3://bucket/key sources, with the keys of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
        text(
            "s3-endpoint", "IMGPROXY_S3_ENDPOINT", \.storeEndpoint, "URL", group: "Sources",
            help: "The store of such sources; Amazon's by default"),
        text(
            "s3-region", "IMGPROXY_S3_REGION", \.storeRegion, "NAME", group: "Sources", help: "The region of the store"),
        flag(
            "allow-loopback", "IMGPROXY_ALLOW_LOOPBACK_SOURCE_ADDRESSES", \.allowsLoopback, group: "Sources",
            help: "Also load from this machine"),
        flag(
            "allow-private", "IMGPROXY_ALLOW_PRIVATE_SOURCE_ADDRESSES", \.allowsPrivate, group: "Sources",
            help: "Also load from private networks"),
        flag(
            "allow-link-local", "IMGPROXY_ALLOW_LINK_LOCAL_SOURCE_ADDRESSES", \.allowsLinkLocal, group: "Sources",
            help: "Also load from link-local addresses"),
        integer(
            "max-redirects", "IMGPROXY_MAX_REDIRECTS", \.maximumRedirects, 0...100, group: "Sources",
            help: "The maximum number of redirects of a source, 10 by default"),
        seconds(
            "download-timeout", "IMGPROXY_DOWNLOAD_TIMEOUT", \.service.limits.transferTime, group: "Sources",
            help: "The time for loading a source, 20 by default"),
    ]

    private static let uploads: [Setting] = [
        text(
            "upload-to", "WEBIMAGE_UPLOAD_TO", \.uploads.destination, "PLACE", group: "Uploads",
            help:
                "Take POST /upload, and store images in local:///FOLDER or s3://BUCKET/PREFIX, which are sources; no uploads by default"
        ),
        Setting(
            name: "upload-options", variable: "WEBIMAGE_UPLOAD_OPTIONS", value: "OPTIONS", group: "Uploads",
            help:
                "What is stored of an upload, as options between slashes; rs:fit:4096:4096 by default, and raw:1 stores files as they come"
        ) { settings, text throws(Invalid) in
            settings.uploads.policy.results = settings.uploads.policy.results.mapValues { _ in text }
        },
        Setting(
            name: "upload-url-options", variable: "WEBIMAGE_UPLOAD_URL_OPTIONS", value: "OPTIONS", group: "Uploads",
            help: "The options of the URL that is answered; raw:1 by default"
        ) { settings, text throws(Invalid) in settings.uploads.urlOptions = text },
        Setting(
            name: "upload-formats", variable: "WEBIMAGE_UPLOAD_FORMATS", value: "FORMAT,…", group: "Uploads",
            help: "The formats that are accepted; jpeg,png,webp,gif,avif,heic by default"
        ) { settings, text throws(Invalid) in
            let formats = SettingValue.list(text).map { name in
                ImageFormat.known.first { $0.name == name || $0.fileExtension == name }
            }
            guard !formats.isEmpty, !formats.contains(nil) else {
                throw Invalid("is a list such as jpeg,png, not '\(text)'")
            }
            settings.uploads.policy.formats = Set(formats.compactMap { $0 })
        },
        Setting(
            name: "upload-max-size", variable: "WEBIMAGE_UPLOAD_MAX_SIZE", value: "SIZE", group: "Uploads",
            help: "The longest upload, 20M by default; other limits are those of sources"
        ) { settings, text throws(Invalid) in
            let count = try SettingValue.byteCount(text)
            guard count > 0 else { throw Invalid("is above 0") }
            settings.uploads.policy.byteLimit = count
        },
        flag(
            "upload-trailing-bytes", "WEBIMAGE_UPLOAD_TRAILING_BYTES", \.uploads.policy.allowsTrailingBytes,
            group: "Uploads",
            help:
                "Accept bytes behind an image, such as the film of a motion photo; what is stored is without them, but for raw:1"
        ),
    ]

    private static let results: [Setting] = [
        offer("avif", "IMGPROXY_AUTO_AVIF", .avif, "true"), offer("webp", "IMGPROXY_AUTO_WEBP", .webp, "true"),
        offer("jxl", "IMGPROXY_AUTO_JXL", .jpegXL, "false"),
        integer(
            "quality", "IMGPROXY_QUALITY", \.service.quality, 1...100, group: "Results",
            help: "The quality of JPEG, 80 by default"),
        formatQualities(
            "format-quality", "IMGPROXY_FORMAT_QUALITY", \.service.formatQualities,
            help: "The qualities of formats; webp=79,avif=63,jxl=77 by default"),
        Setting(
            name: "autoquality-method", variable: "IMGPROXY_AUTOQUALITY_METHOD", value: "METHOD", group: "Results",
            help: "'dssim' for the lowest quality at which results differ little enough, or 'none', the default"
        ) { settings, text throws(Invalid) in
            guard ["none", "dssim"].contains(text) else { throw Invalid("must be none or dssim, not '\(text)'") }
            settings.hasQualityBound = text == "dssim"
        },
        number(
            "autoquality-target", "IMGPROXY_AUTOQUALITY_TARGET", \.qualityBound.dissimilarity,
            help: "The largest structural dissimilarity, 0.02 by default"),
        number(
            "autoquality-allowed-error", "IMGPROXY_AUTOQUALITY_ALLOWED_ERROR", \.qualityBound.allowedError,
            help: "By how much it may be exceeded, 0.001 by default"),
        integer(
            "autoquality-min", "IMGPROXY_AUTOQUALITY_MIN", \.lowestQuality, 1...100, group: "Results",
            help: "The lowest quality for that, 30 by default"),
        integer(
            "autoquality-max", "IMGPROXY_AUTOQUALITY_MAX", \.highestQuality, 1...100, group: "Results",
            help: "The highest quality for that, 95 by default"),
        formatQualities(
            "autoquality-format-min", "IMGPROXY_AUTOQUALITY_FORMAT_MIN", \.lowestFormatQualities,
            help: "The lowest qualities of formats for that, such as avif=40"),
        formatQualities(
            "autoquality-format-max", "IMGPROXY_AUTOQUALITY_FORMAT_MAX", \.highestFormatQualities,
            help: "The highest qualities of formats for that"),
        data(
            "watermark", "IMGPROXY_WATERMARK_PATH", \.service.watermark, "FILE",
            help: "The image of the option watermark",
            SettingValue.file),
        data(
            "watermark-data", "IMGPROXY_WATERMARK_DATA", \.service.watermark, "BASE64", help: "The same, as base64",
            SettingValue.base64),
        number(
            "watermark-opacity", "IMGPROXY_WATERMARK_OPACITY", \.service.watermarkOpacity,
            help: "The opacity of that image, by which that of each path is multiplied, 1 by default"),
        data(
            "fallback", "IMGPROXY_FALLBACK_IMAGE_PATH", \.service.fallback, "FILE",
            help: "The image for sources that fail",
            SettingValue.file),
        data(
            "fallback-data", "IMGPROXY_FALLBACK_IMAGE_DATA", \.service.fallback, "BASE64", help: "The same, as base64",
            SettingValue.base64),
        Setting(
            name: "fallback-status", variable: "IMGPROXY_FALLBACK_IMAGE_HTTP_CODE", value: "N", group: "Results",
            help: "The status of that image, 200 by default; 0 for that of the error"
        ) { settings, text throws(Invalid) in
            let status = try SettingValue.number(text, in: 0...599)
            guard status == 0 || status >= 200 else { throw Invalid("is 0, or from 200 to 599") }
            settings.service.fallbackStatus = status == 0 ? nil : status
        },
        seconds(
            "ttl", "IMGPROXY_TTL", \.service.lifetime, group: "Results",
            help: "How long results are valid, a year by default"),
        flag(
            "cache-control-passthrough", "IMGPROXY_CACHE_CONTROL_PASSTHROUGH", \.service.usesSourceLifetime,
            group: "Results",
            help: "Results are valid no longer than their sources"),
    ]

    private static let caches: [Setting] = [
        Setting(
            name: "cache", variable: "WEBIMAGE_CACHE", value: "FOLDER", group: "Caches",
            help: "Where originals and results are stored; nowhere by default"
        ) { settings, text throws(Invalid) in settings.cacheDirectory = text.isEmpty ? nil : text },
        bytes(
            "cache-size", "WEBIMAGE_CACHE_SIZE", \.cacheByteCount, group: "Caches",
            help: "The size of that folder, 2G by default"),
        bytes(
            "memory", "WEBIMAGE_MEMORY", \.service.memoryByteCount, group: "Caches",
            help:
                "The limit on results in memory, 64M by default, at most an eighth of the memory that the server may use"
        ),
        Setting(
            name: "shared", variable: "WEBIMAGE_SHARED", value: "S3URL", group: "Caches",
            help:
                "A cache in an S3 store that several servers share, with the keys of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY and the secret of WEBIMAGE_SHARED_SECRET"
        ) { settings, text throws(Invalid) in settings.shared = text.isEmpty ? nil : text },
        seconds(
            "shared-timeout", "WEBIMAGE_SHARED_TIMEOUT", \.sharedTimeout, group: "Caches",
            help: "How long that store may send nothing, 0.2 by default"),
    ]

    private static let longestQueue = 100_000

    private static let limits: [Setting] = [
        integer(
            "workers", "IMGPROXY_WORKERS", \.service.limits.workCount, 1...1000, group: "Limits",
            help:
                "Results that are made at a time; four for each processor and one for 64M of memory at most by default; most wait for their sources"
        ),
        Setting(
            name: "queue", variable: "IMGPROXY_REQUESTS_QUEUE_SIZE", value: "N", group: "Limits",
            help: "Results that may wait, 256 by default; beyond it, requests get 429. 0 for the maximum, 100,000"
        ) { settings, text throws(Invalid) in
            let count = try SettingValue.number(text, in: 0...longestQueue)
            settings.service.limits.queueLength = count == 0 ? longestQueue : count
        },
        seconds(
            "timeout", "IMGPROXY_TIMEOUT", \.service.limits.time, group: "Limits",
            help: "The time for a request, 30 by default"),
        Setting(
            name: "max-src-resolution", variable: "IMGPROXY_MAX_SRC_RESOLUTION", value: "MEGAPIXELS", group: "Limits",
            help: "The largest source, 100 by default"
        ) { settings, text throws(Invalid) in
            settings.service.limits.decoding.pixelCount = Int(try SettingValue.fraction(text, in: 0.001...4000) * 1e6)
        },
        Setting(
            name: "max-src-file-size", variable: "IMGPROXY_MAX_SRC_FILE_SIZE", value: "SIZE", group: "Limits",
            help: "The longest source, 50M by default; 0 for the maximum, 2G"
        ) { settings, text throws(Invalid) in
            let count = try SettingValue.byteCount(text)
            settings.service.limits.sourceByteCount = count == 0 ? 2 << 30 : count
        },
        Setting(
            name: "max-decode-time", variable: "WEBIMAGE_MAX_DECODE_TIME", value: "SECONDS", group: "Limits",
            help: "The processor time for reading an image, 5 by default"
        ) { settings, text throws(Invalid) in
            let seconds = try SettingValue.fraction(text, in: 0.001...300)
            settings.service.limits.decoding.processorTime = .seconds(seconds)
        },
        integer(
            "max-animation-frames", "WEBIMAGE_MAX_ANIMATION_FRAMES", \.service.limits.frameCount, 1...50_000,
            group: "Limits",
            help: "The maximum number of frames of an animation, 1000 by default; longer ones are refused, not cut"),
        integer(
            "max-result-dimension", "IMGPROXY_MAX_RESULT_DIMENSION", \.service.limits.resultSide, 0...65_535,
            group: "Limits",
            help:
                "The longest side of a result in pixels, to which larger ones are scaled down, 8192 by default; 0 for any"
        ),
        Setting(
            name: "isolation", variable: "WEBIMAGE_ISOLATION", value: "POLICY", group: "Limits",
            help:
                "Which formats are decoded in processes of webimage-decoder: 'all' (the default), or 'libraries' for those of large libraries only"
        ) { settings, text throws(Invalid) in
            let policies = ["all": IsolationPolicy.allFormats, "libraries": .libraryFormats]
            guard let policy = policies[text] else { throw Invalid("is all or libraries, not '\(text)'") }
            settings.isolation = policy
        },
    ]
}

// MARK: Kinds of settings

extension Setting {
    private static func integer(
        _ name: String, _ variable: String, _ property: any WritableKeyPath<ServerSettings, Int> & Sendable,
        _ range: ClosedRange<Int>, group: LocalizableText, help: LocalizableText
    ) -> Setting {
        Setting(name: name, variable: variable, value: "N", group: group, help: help) {
            settings, text throws(Invalid) in
            settings[keyPath: property] = try SettingValue.number(text, in: range)
        }
    }

    private static func number(
        _ name: String, _ variable: String, _ property: any WritableKeyPath<ServerSettings, Double> & Sendable,
        help: LocalizableText
    ) -> Setting {
        Setting(name: name, variable: variable, value: "N", group: "Results", help: help) {
            settings, text throws(Invalid) in
            settings[keyPath: property] = try SettingValue.fraction(text, in: 0...1)
        }
    }

    private static func formatQualities(
        _ name: String, _ variable: String,
        _ property: any WritableKeyPath<ServerSettings, [ImageFormat: Int]> & Sendable, help: LocalizableText
    ) -> Setting {
        Setting(name: name, variable: variable, value: "FORMAT=N,…", group: "Results", help: help) {
            settings, text throws(Invalid) in
            settings[keyPath: property].merge(try SettingValue.formatQualities(text)) { $1 }
        }
    }

    private static func seconds(
        _ name: String, _ variable: String, _ property: any WritableKeyPath<ServerSettings, Duration> & Sendable,
        group: LocalizableText, help: LocalizableText
    ) -> Setting {
        Setting(name: name, variable: variable, value: "SECONDS", group: group, help: help) {
            settings, text throws(Invalid) in
            settings[keyPath: property] = .seconds(try SettingValue.fraction(text, in: 0...1e9))
        }
    }

    private static func bytes(
        _ name: String, _ variable: String, _ property: any WritableKeyPath<ServerSettings, Int> & Sendable,
        group: LocalizableText, help: LocalizableText
    ) -> Setting {
        Setting(name: name, variable: variable, value: "SIZE", group: group, help: help) {
            settings, text throws(Invalid) in
            settings[keyPath: property] = try SettingValue.byteCount(text)
        }
    }

    private static func text(
        _ name: String, _ variable: String, _ property: any WritableKeyPath<ServerSettings, String> & Sendable,
        _ value: String, group: LocalizableText, help: LocalizableText
    ) -> Setting {
        Setting(name: name, variable: variable, value: value, group: group, help: help) {
            settings, text throws(Invalid) in
            settings[keyPath: property] = text
        }
    }

    private static func list(
        _ name: String, _ variable: String, _ property: any WritableKeyPath<ServerSettings, [String]> & Sendable,
        _ value: String, group: LocalizableText, help: LocalizableText
    ) -> Setting {
        Setting(name: name, variable: variable, value: value, group: group, help: help) {
            settings, text throws(Invalid) in
            settings[keyPath: property] = SettingValue.list(text)
        }
    }

    private static func flag(
        _ name: String, _ variable: String, _ property: any WritableKeyPath<ServerSettings, Bool> & Sendable,
        group: LocalizableText, help: LocalizableText
    ) -> Setting {
        Setting(name: name, variable: variable, value: nil, group: group, help: help) {
            settings, text throws(Invalid) in
            settings[keyPath: property] = try SettingValue.flag(text)
        }
    }

    private static func data(
        _ name: String, _ variable: String, _ property: any WritableKeyPath<ServerSettings, Data?> & Sendable,
        _ value: String, help: LocalizableText, _ read: @escaping @Sendable (String) throws(Invalid) -> Data
    ) -> Setting {
        Setting(name: name, variable: variable, value: value, group: "Results", help: help) {
            settings, text throws(Invalid) in settings[keyPath: property] = text.isEmpty ? nil : try read(text)
        }
    }

    private static func offer(_ name: String, _ variable: String, _ format: ImageFormat, _ standard: String) -> Setting
    {
        Setting(
            name: "auto-" + name, variable: variable, value: "BOOL", group: "Results",
            help: "Send \(name.uppercased()) to clients that accept it; \(standard) by default"
        ) { settings, text throws(Invalid) in
            if try SettingValue.flag(text) { settings.offers.insert(format) } else { settings.offers.remove(format) }
        }
    }
}

extension ServerSettings {
    mutating func addPresets(_ lines: [String]) throws(Setting.Invalid) {
        for line in lines where !line.isEmpty {
            guard let sign = line.firstIndex(of: "="), sign != line.startIndex else {
                throw Setting.Invalid("is a list such as small=rs:fit:100:100, not '\(line)'")
            }
            service.presets[String(line[..<sign])] = String(line[line.index(after: sign)...])
        }
    }
}
