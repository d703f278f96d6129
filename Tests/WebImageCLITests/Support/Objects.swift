/// The output of `get --json`.
struct LoadObject: Decodable, Equatable {
    var url: String
    var source: String
    var format: String?
    var width: Int?
    var height: Int?
    var frames: Int?
    var bytes: Int?
    var milliseconds: Double
    var path: String?
    var pathBase64: String?
    var warning: String?
    var error: ErrorObject?
}

struct ErrorObject: Decodable, Equatable {
    var code: Int
    var message: String
}

/// The output of `info --json`.
struct InfoObject: Decodable, Equatable {
    var url: String
    var format: String?
    var width: Int?
    var height: Int?
    var frames: Int?
    var loopCount: Int?
    var durations: [Double]?
    var alpha: Bool?
    var orientation: Int?
    var colorProfile: Bool?
    var colorProfileName: String?
    var bytes: Int?
    var error: ErrorObject?
    var isolation: IsolationObject?
}

struct IsolationObject: Decodable, Equatable {
    var isolated: Bool?
    var program: String?
    var problem: String?
    var layers: [String]
    var missing: [String: String]
}

/// The output of `convert --json`.
struct ConversionObject: Decodable, Equatable {
    var input: String
    var path: String?
    var format: String?
    var width: Int?
    var height: Int?
    var frames: Int?
    var bytes: Int?
    var milliseconds: Double
    var error: ErrorObject?
}

/// The output of `cache stats --json`.
struct StatsObject: Decodable, Equatable {
    struct Segments: Decodable, Equatable {
        var count: Int
        var bytes: Int
        var liveBytes: Int
    }

    struct Files: Decodable, Equatable {
        var count: Int
        var bytes: Int
    }

    var directory: String
    var entries: Int
    var bytes: Int
    var hits: Int
    var misses: Int
    var hitPercent: Double?
    var evictions: Int
    var oldestCreation: String?
    var newestAccess: String?
    var segments: Segments
    var files: Files
    var indexBytes: Int
}

/// The output of `cache list --json`, `cache get --json` and `cache remove --json`.
struct EntryObject: Decodable, Equatable {
    var key: String
    var bytes: Int?
    var created: String?
    var lastAccess: String?
    var expires: String?
    var age: Double?
    var place: String?
    var path: String?
    var error: ErrorObject?
}

/// The output of `cache clear --json` and `cache trim --json`.
struct RemovalObject: Decodable, Equatable {
    var removed: Int
    var bytes: Int
    var error: ErrorObject?
}
