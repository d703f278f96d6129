import Foundation
import WebImage
import WebImageShared

/// A server of thumbnails; `README.md` has its interface.
@main
enum Program {
    static func main() throws {
        let arguments: Arguments
        do {
            arguments = try Arguments(CommandLine.arguments.dropFirst())
        } catch {
            FileHandle.standardError.write(Data("\(error)\n\n\(Arguments.usage)\n".utf8))
            exit(2)
        }
        let termination = Termination()
        let shared = arguments.shared.map { SharedImageCache($0) }
        let thumbnails = ThumbnailService(manager: manager(arguments, shared), shared: shared, maxAge: arguments.maxAge)
        let server = try HTTPServer(address: arguments.address, port: arguments.port, limits: arguments.limits) {
            thumbnails.respond(to: $0)
        }
        print("http://\(arguments.address):\(server.port)")
        fflush(nil)
        termination.wait()
        server.stop(within: .seconds(20))
        thumbnails.finish()
    }

    /// Only public addresses, with the limits for servers.
    private static func manager(_ arguments: Arguments, _ shared: SharedImageCache?) -> WebImageManager {
        var configuration = WebImageManager.Configuration.server
        if let directory = arguments.cacheDirectory {
            configuration.cache = ImageCache(
                disk: DiskCache(configuration: DiskCache.Configuration(directory: directory)),
                configuration: ImageCache.Configuration(decodingLimits: configuration.decodingLimits))
        }
        if arguments.allowsLoopback {
            // For tests: images of this machine.
            var downloads = ImageDownloader.Configuration()
            downloads.addressPolicy = .publicInternet
            downloads.addressPolicy.allowedNetworks = ["127.0.0.0/8", "::1"]
            downloads.proxy = .none
            downloads.totalTimeout = .seconds(60)
            downloads.maximumResponseByteCount = 50 << 20
            configuration.loaders = [ImageDownloader(configuration: downloads)]
        }
        configuration.optionsProcessor = { request in
            request.totalTimeout = .seconds(20)
            request.ignoresFailedURLs = true
        }
        if let shared { configuration.share(shared) }
        return WebImageManager(configuration: configuration)
    }
}

/// SIGTERM and SIGINT, which end the program once all responses are sent.
private struct Termination {
    private var signals = sigset_t()

    /// Blocks the signals in all threads that start later.
    init() {
        sigemptyset(&signals)
        sigaddset(&signals, SIGTERM)
        sigaddset(&signals, SIGINT)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        signal(SIGPIPE, SIG_IGN)
    }

    func wait() {
        var (signals, number) = (signals, Int32(0))
        sigwait(&signals, &number)
    }
}
