import Foundation
import Logging
import WebImage

/// Loads the images of URLs, and logs everything about it.
@main
enum Program {
    static func main() async {
        var logger = Logger(label: "images")
        logger.logLevel = .trace
        var configuration = WebImageManager.Configuration()
        configuration.logLoads(to: logger)
        let manager = WebImageManager(configuration: configuration)
        for address in CommandLine.arguments.dropFirst() { _ = try? await manager.image(at: address) }
    }
}
