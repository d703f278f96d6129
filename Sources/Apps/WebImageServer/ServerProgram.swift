internal import CommandReference
internal import Dispatch
internal import FoundationEssentials
internal import Glibc
internal import ProgramSupport
internal import Synchronization
internal import WebImage
internal import WebImageCore
internal import WebImageIsolation
internal import WebImageService

/// `webimage-server`: an image service behind a web server.
@main
enum ServerProgram {
    static func main() {
        let signals = Signals()
        do {
            switch try CommandLineOptions.request(Array(CommandLine.arguments.dropFirst())) {
            case .help:
                // Only help is in the language of the user: other programs read the log.
                let texts = TextDomain(program: CommandLineOptions.program)
                print(HelpText.text(for: CommandLineOptions.syntax, in: texts), terminator: "")
            case .version: print("\(CommandLineOptions.program) \(LibraryVersion.text)")
            case .manual: print(CommandLineOptions.manualPage, terminator: "")
            case .run(let options): try run(options, signals)
            }
        } catch {
            complain("\(error)")
            exit((error as? StartFailure)?.status ?? 2)
        }
        // Threads of the library may still run.
        fflush(nil)
        _exit(0)
    }

    private static func complain(_ text: String) {
        let bytes = Array("\(CommandLineOptions.program): \(text)\n".utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }

    private static func run(_ options: [(name: String, value: String)], _ signals: Signals) throws {
        let environment = ProcessInfo.processInfo.environment
        var reader = SettingsReader()
        try reader.read(options: options, environment: environment)
        reader.warnings.forEach(complain)
        let settings = reader.settings
        var configuration = try settings.configuration()
        try checkIsolation(configuration)
        let (metrics, log) = (ServerMetrics(), AccessLog(isEnabled: settings.logsRequests))
        configuration.didMeasure = { metrics.note($0, seconds: $1 / .seconds(1)) }
        let service = try ImageService(configuration)

        let stop = StopMark()
        let bearer = BearerCheck(secret: settings.secret)
        let pages = ServerPages(service: service, metrics: metrics, bearer: bearer) { stop.isSet }
        let crossOrigin = CrossOrigin(origin: settings.allowedOrigin, takesUploads: configuration.uploads != nil)
        let answers = ServerAnswers(service: service, pages: pages, crossOrigin: crossOrigin, stop: stop)
        var sockets = ListeningSocket.inherited(environment)
        if let warning = settings.warning(inheritedCount: sockets.count) { complain(warning) }
        if sockets.isEmpty { for place in settings.places { sockets.append(try ListeningSocket.open(place)) } }
        let names = sockets.map(ListeningSocket.name)
        let server = HTTPServer(sockets: sockets, limits: settings.serverLimits) { exchange in
            answers.begin(exchange)
        } takesBody: { target in
            service.isUpload(ServiceRequest(method: "POST", target: target))
        } onAnswer: { exchange, answer in
            metrics.note(answer, seconds: exchange.start.duration(to: .now) / .seconds(1))
        } onEnd: { exchange, isSent in
            log.print(exchange, isSent: isSent)
        }
        guard let server else { throw StartFailure(description: "libmicrohttpd does not start", status: 1) }
        metrics.count { server.connections.count }
        for name in names { print("listening on \(name)") }
        fflush(nil)
        let systemd = SystemdNotifier(environment)
        systemd.notify("READY=1")

        signals.wait()
        systemd.notify("STOPPING=1")
        stop.set()
        wait {
            await server.stop(within: .seconds(settings.stopTime))
            await service.stop()
        }
    }

    /// A server that can decode nothing does not start.
    private static func checkIsolation(_ configuration: ImageService.Configuration) throws {
        guard configuration.images.isolation == .allFormats else { return }
        if let problem = configuration.images.isolatedDecoding.blockingStatus.problem {
            throw StartFailure(description: "images cannot be decoded: \(problem)", status: 1)
        }
    }

    /// Blocks the main thread, which has nothing else to do.
    private static func wait(_ body: @escaping @Sendable () async -> Void) {
        let end = DispatchSemaphore(value: 0)
        Task.detached {
            await body()
            end.signal()
        }
        end.wait()
    }
}

/// Answers requests: those for pages, and those for images by the service.
private struct ServerAnswers: Sendable {
    let service: ImageService
    let pages: ServerPages
    let crossOrigin: CrossOrigin
    let stop: StopMark

    /// Sends the answer, now or later.
    func begin(_ exchange: HTTPExchange) {
        let closes = stop.isSet
        @Sendable func send(_ answer: ServiceAnswer) {
            // A client that is still there did not give the work up: the end of the time for stopping did.
            let isGivenUp = answer.status == 499 && stop.isSet
            exchange.send(
                crossOrigin.added(to: isGivenUp ? .stopping(exchange.request) : answer), closes: closes || stop.isSet)
        }
        if let answer = crossOrigin.answer(to: exchange.request) { return send(answer) }
        if let answer = pages.answer(to: exchange.request) { return send(answer) }
        if let body = exchange.body {
            if let answer = service.refusal(ofUpload: exchange.request) { return send(answer) }
            let task = Task { send(await service.answer(toUpload: exchange.request, body: body)) }
            return exchange.onLeave { task.cancel() }
        }
        switch service.begin(exchange.request) {
        case .answer(let answer): send(answer)
        case .pending(let pending):
            let task = Task { send(await service.answer(to: pending)) }
            exchange.onLeave { task.cancel() }
        }
    }
}

/// Whether the server is stopping.
private final class StopMark: Sendable {
    private let mark = Atomic(false)

    var isSet: Bool { mark.load(ordering: .sequentiallyConsistent) }

    func set() { mark.store(true, ordering: .sequentiallyConsistent) }
}
