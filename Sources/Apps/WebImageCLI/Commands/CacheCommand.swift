internal import CommandReference
internal import FoundationEssentials
internal import Glibc
internal import ProgramSupport
internal import WebImage
internal import WebImageCore
internal import WebImageShared

/// `webimage cache`: lists and changes the contents of the disk cache.
struct CacheCommand: Command {
    static let name = "cache"
    static let summary: LocalizableText = "Inspect or clean the disk cache"
    static let details = """
        The key of an entry is the URL of its image; 'list' prints it. No action creates a cache. All but 'get'
        need permission to write to its directory.

        With --shared, the actions stats, list, get and remove apply to a shared cache in an S3 store. The
        environment variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY contain the keys of the store.
        """

    /// The action to perform.
    enum Action {
        case stats
        case list
        case get(key: String, path: SystemString?)
        case remove(keys: [String])
        case clear
        case trim(Limits)
    }

    /// The limits of 'trim'; if all are `nil`, the cache's own limits apply.
    struct Limits {
        /// In bytes.
        var size: Int64?
        var count: Int?
        /// Since the last use.
        var age: Duration?
    }

    let action: Action
    let isJSON: Bool
    let isQuiet: Bool
    let cache: SourceOptions.Cache
    /// The shared cache to use instead of the disk cache.
    let shared: S3Location?
    /// The errors of the cache so far.
    let failures = LockedBox<[WebImageError]>([])

    init(_ arguments: [SystemString]) throws(ArgumentError) {
        let parser = Self.parser(operands: "ACTION")
        Self.declareActions(in: parser)
        let directory = parser.option(
            "cache-dir", value: "DIR", completion: .directory, help: "Use this disk cache instead of the user's")
        let sharedOption = parser.option(
            "shared", value: "S3URL", help: "Use this shared cache, such as s3://bucket/prefix?endpoint=https://host")
        let output = parser.option(
            "output", letter: "o", value: "FILE", completion: .file, help: "Write the file of 'get' here")
        let count = parser.option("count", value: "N", help: "Let 'trim' keep at most N entries")
        let age = parser.option(
            "age", value: "DAYS", help: "Let 'trim' remove the entries that were not used for this long")
        let reports = ReportOptions(in: parser)
        let operands = try parser.parse(arguments).map(\.description)

        cache = try parser.text(of: directory, content: "a directory").map(SourceOptions.Cache.directory) ?? .standard
        shared = try parser.location(sharedOption)
        if shared != nil, directory.value != nil {
            throw parser.error("--shared and --cache-dir cannot be used together")
        }
        (isJSON, isQuiet) = try reports.values(from: parser)
        guard let name = operands.first else {
            let names = parser.syntax.actions.map(\.name).joined(separator: ", ")
            throw parser.error("no action given; the actions are \(names)")
        }
        let limits = Limits(count: try parser.count(count, in: 0...Int.max), age: try parser.days(age))
        action = try Self.action(
            name, operands: Array(operands.dropFirst()),
            output: output.path == OutputFile.standardOutput ? nil : output.path, limits: limits, parser: parser)
        if name != "trim", limits.count != nil || limits.age != nil {
            throw parser.error("--count and --age are for 'trim' only")
        }
        if shared != nil, name == "clear" || name == "trim" {
            throw parser.error("'\(name)' is not available for a shared cache; use a lifecycle rule of its bucket")
        }
        guard case .get(_, let path) = action else {
            if output.value != nil { throw parser.error("--output is for 'get' only") }
            return
        }
        if path == nil, isJSON { throw parser.error("'get' with --json needs --output") }
        if path == nil, isatty(STDOUT_FILENO) == 1 {
            throw parser.error("will not write an image to a terminal; name a file with --output")
        }
    }

    private static func declareActions(in parser: OptionParser) {
        parser.action("stats", help: "Print the number, size, age and place of the entries, and the hit rate")
        parser.action("list", help: "Print each entry, the oldest first: size, age, last use, expiry")
        parser.action("get", operands: "KEY", help: "Write the bytes of an entry to --output, or to standard output")
        parser.action("remove", operands: "KEY…", help: "Remove entries")
        parser.action("clear", help: "Remove all entries")
        parser.action(
            "trim", operands: "[SIZE]",
            help: """
                Remove expired entries, and then the least recently used ones until SIZE bytes (or 500K, 20M, 1G), \
                --count entries and --age days are left; without any of these, the cache's own limits apply
                """)
    }

    private static func action(
        _ name: String, operands: [String], output: SystemString?, limits: Limits, parser: OptionParser
    ) throws(ArgumentError) -> Action {
        switch (name, operands.count) {
        case ("stats", 0): return .stats
        case ("list", 0): return .list
        case ("clear", 0): return .clear
        case ("get", 1): return .get(key: operands[0], path: output)
        case ("remove", 1...): return .remove(keys: operands)
        case ("trim", 0): return .trim(limits)
        case ("trim", 1):
            guard let size = ByteCount(operands[0])?.value else {
                throw parser.error("'trim' takes a size such as 500K, 20M or 1G, not '\(operands[0])'")
            }
            return .trim(Limits(size: Int64(size), count: limits.count, age: limits.age))
        case ("stats", _), ("list", _), ("clear", _): throw parser.error("'\(name)' takes no arguments")
        case ("get", _): throw parser.error("'get' takes one key")
        case ("remove", _): throw parser.error("'remove' takes a key")
        case ("trim", _): throw parser.error("'trim' takes one size")
        default:
            throw parser.error(
                Suggestion.adding(
                    to: "unknown action '\(name)'", for: name, among: parser.syntax.actions.map(\.name)))
        }
    }

    /// Returns an error text if there is no cache in the directory; `nil` if there is one, or if this is unknown.
    private static func absence(of cache: SourceOptions.Cache) -> LocalizableText? {
        let path = cache.path
        var status = stat()
        guard stat(path + "/index.sqlite", &status) != 0, errno == ENOENT else { return nil }
        return "\(path): there is no cache in this directory."
    }

    /// Describes an error by its effect on the action. Nothing else is loaded without the cache.
    nonisolated func text(of error: WebImageError) -> LocalizableText {
        guard case .diskCache(let path, .system(let errno)) = error else { return error.shellText() }
        return switch action {
        case .remove, .clear, .trim: "\(path): the cache cannot be changed: \(systemError: errno)."
        case .get: "\(path): the cache cannot be read: \(systemError: errno)."
        case .stats, .list:
            "\(path): the cache cannot be opened, which takes permission to write: \(systemError: errno)."
        }
    }

    /// Whether 'get' may succeed nevertheless: only the other actions need more than permission to read.
    nonisolated func isTolerable(_ error: WebImageError) -> Bool {
        guard case .get = action, case .diskCache(_, .system(let errno)) = error else { return false }
        return [EACCES, EPERM, EROFS].contains(errno)
    }

    /// The error because of which the contents of the cache are unknown, if any.
    var unusableCache: WebImageError? {
        failures.withLock { failures in
            failures.first { failure in
                switch failure {
                case .diskCache(_, .system), .diskCache(_, .foreignDirectory): true
                default: false
                }
            }
        }
    }

    func run() async -> ExitStatus {
        if let shared {
            var configuration = SharedImageCache.Configuration(location: shared)
            // The result itself is awaited, not an image that could come from elsewhere.
            configuration.budget.connect = .seconds(10)
            configuration.budget.firstByte = .seconds(30)
            configuration.budget.bytesPerSecond = 1 << 10
            let cache = SharedImageCache(configuration)
            return await perform(on: cache) ? .success : .failure
        }
        // Opening would create a cache, also in a mistyped directory.
        if let failure = Self.absence(of: cache) {
            Console.standard.complain(failure)
            return .failure
        }
        let disk = cache.open { [self] error in
            failures.withLock { $0.append(error) }
            if !isTolerable(error) { Console.standard.complain(text(of: error)) }
        }
        let isDone = await perform(on: disk)
        await disk.flush()
        return isDone && failures.withLock { $0.allSatisfy(isTolerable) } ? .success : .failure
    }
}
