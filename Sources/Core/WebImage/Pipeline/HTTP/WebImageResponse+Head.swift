import FoundationEssentials
import WebImageCore
public import WebImageLoading

extension WebImageResponse {
    /// The head of the server's response that the image came with: its status, its header fields and its URL after redirects; `nil` for
    /// images that did not come over HTTP, such as files, and for those that a program has stored.
    ///
    /// It is known wherever the image comes from. Caches keep it beside the image, and update it when the server confirms that the image
    /// is current; it then has the age of the response in an `Age` field. Fields of the connection (RFC 9111, 3.1) are left out. A cached
    /// head lacks those that must not be reused without revalidation.
    ///
    /// ```swift
    /// let response = try await manager.response(for: WebImageRequest(url))
    /// print(response.head?.statusCode ?? 0, response.head?.headerValue("Last-Modified") ?? "")
    /// ```
    public var head: LoaderResponse? {
        guard let stored = (image.provenance as? ResponseRecord)?.response else { return nil }
        return LoaderResponse(
            url: stored.finalURL.flatMap { URL(string: $0) } ?? url, statusCode: stored.statusCode,
            headers: origin == .remote ? stored.headers : stored.headers(servedAt: Date()))
    }
}
