package import FoundationEssentials
internal import WebImageCore

/// A loader that adds something to the loads of another one. It handles the same URLs, and sends the same header fields.
package protocol LoaderDecorator: ImageLoader {
    /// The loader that it calls.
    var base: any ImageLoader { get }
}

extension LoaderDecorator {
    package func canLoad(_ url: URL) -> Bool { base.canLoad(url) }
    package func isCacheable(_ url: URL) -> Bool { base.isCacheable(url) }
    package func requestHeaders(for request: LoaderRequest) -> [HTTPHeader] { base.requestHeaders(for: request) }
}
