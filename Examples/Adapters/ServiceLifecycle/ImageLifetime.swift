// Images in swift-service-lifecycle. Copy this file into your program, which needs the product WebImage, or
// WebImageService for an image service.

import ServiceLifecycle
import WebImage
import WebImageService

/// Lets the work of a manager and of an image service end when the program shuts down.
///
/// ```swift
/// let images = ImageLifetime(manager: manager, service: service)
/// let group = ServiceGroup(services: [images, server], gracefulShutdownSignals: [.sigterm], logger: logger)
/// ```
///
/// A group shuts its services down in reverse order, so name it before the server: no request begins any more, and those in
/// progress have their answers. Loads that nothing waits for, such as those of an ``ImagePrefetcher``, end too. If the
/// group is cancelled, or cannot wait any longer, loads are cancelled.
struct ImageLifetime: Service {
    /// The manager whose loads end; `nil` for none.
    var manager: WebImageManager?
    /// The service that refuses new requests, answers those in progress, and writes their results; `nil` for none.
    var service: ImageService?

    func run() async throws {
        // Throws if the task is cancelled.
        if (try? await gracefulShutdown()) == nil { manager?.cancelAll() }
        async let stopped: Void? = service?.stop()
        // Waiting in a task that is cancelled cancels the load.
        for operation in manager?.runningOperations ?? [] { _ = try? await operation.response }
        await stopped
    }
}
