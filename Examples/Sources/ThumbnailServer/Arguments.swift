import Foundation
import WebImageShared

/// The options of the command line.
struct Arguments {
    static let usage = """
        ThumbnailServer [OPTION]...

          --address ADDRESS        where to listen; 127.0.0.1 by default
          --port PORT              8080 by default; 0 chooses a free one
          --cache DIRECTORY        the disk cache; one for each server on a machine
          --shared S3URL           a cache in an S3 store, with the keys of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY
                                   and the secret of WEBIMAGE_SHARED_SECRET; by default that of THUMBNAIL_SHARED
          --shared-budget MS       how long the store may send nothing; 200 ms by default
          --client-time SECONDS    how long a client may take to send a request, and to begin to read its response; by
                                   default 10 and 30 s
          --max-age SECONDS        of thumbnails in Cache-Control; 3600 by default
          --allow-loopback         also loads images from this machine
        """

    var address = "127.0.0.1"
    var port: UInt16 = 8080
    var cacheDirectory: URL?
    var shared: SharedImageCache.Configuration?
    var maxAge = 3600
    var limits = HTTPLimits()
    var allowsLoopback = false

    struct Invalid: Error, CustomStringConvertible {
        let description: String
    }

    init(_ arguments: some Sequence<String>) throws {
        var (rest, budget) = (Array(arguments)[...], 200)
        var location = ProcessInfo.processInfo.environment["THUMBNAIL_SHARED"]
        while let option = rest.popFirst() {
            func value<Value>(_ convert: (String) -> Value?) throws -> Value {
                guard let text = rest.popFirst(), let value = convert(text) else {
                    throw Invalid(description: "\(option) needs a valid value.")
                }
                return value
            }
            switch option {
            case "--address": address = try value { $0 }
            case "--port": port = try value { UInt16($0) }
            case "--cache": cacheDirectory = try value { URL(filePath: $0, directoryHint: .isDirectory) }
            case "--shared": location = try value { $0 }
            case "--shared-budget": budget = try value { Int($0) }
            case "--client-time":
                let time = Duration.seconds(try value { Int($0).flatMap { (1...3600).contains($0) ? $0 : nil } })
                (limits.headTime, limits.bodyTime, limits.idleTime, limits.sendTime) = (time, time, time, time)
            case "--max-age": maxAge = try value { Int($0) }
            case "--allow-loopback": allowsLoopback = true
            case "--help":
                print(Self.usage)
                exit(0)
            default: throw Invalid(description: "There is no option \(option).")
            }
        }
        if let location {
            var configuration = SharedImageCache.Configuration(location: try S3Location(location))
            configuration.budget.firstByte = .milliseconds(budget)
            shared = configuration
        }
    }
}
