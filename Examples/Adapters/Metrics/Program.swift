import Metrics
import WebImage

/// Loads the images of URLs, and measures it.
@main
enum Program {
    static func main() async {
        var configuration = WebImageManager.Configuration()
        configuration.measureLoads()
        let manager = WebImageManager(configuration: configuration)
        for address in CommandLine.arguments.dropFirst() { _ = try? await manager.image(at: address) }
        manager.recordWork()
    }
}
