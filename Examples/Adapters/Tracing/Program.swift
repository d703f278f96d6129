import Tracing
import WebImage

/// Loads the images of URLs, each in a span as that of a server's request.
@main
enum Program {
    static func main() async {
        var configuration = WebImageManager.Configuration()
        configuration.traceLoads()
        let manager = WebImageManager(configuration: configuration)
        for address in CommandLine.arguments.dropFirst() {
            await withSpan("request") { _ in _ = try? await manager.image(at: address) }
        }
    }
}
