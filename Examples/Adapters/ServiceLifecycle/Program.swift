import Foundation
import Logging
import ServiceLifecycle
import WebImage
import WebImageService

/// Begins to load the image of a URL, which nothing waits for, and ends with SIGTERM: not before the image has arrived.
@main
enum Program {
    static func main() async throws {
        let (manager, logger) = (WebImageManager(), Logger(label: "images"))
        let images = ImageLifetime(manager: manager, service: try ImageService())
        let load = Load(manager: manager, address: CommandLine.arguments[1])
        let group = ServiceGroup(services: [images, load], gracefulShutdownSignals: [.sigterm], logger: logger)
        try await group.run()
        say("ended after \(manager.counters.loads) load")
    }

    private struct Load: Service {
        let manager: WebImageManager
        let address: String

        func run() async throws {
            manager.load(try WebImageRequest(address)) { _ in }
            try await gracefulShutdown()
            say("shutting down")
        }
    }

    private static func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }
}
