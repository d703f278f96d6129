import FoundationEssentials
import WebImageLoading

/// A moment all rows count from: Sun, 06 Nov 1994 08:49:37 GMT.
let epoch = Date(timeIntervalSince1970: 784_111_777)

/// Fields as they stand in a head, one a line: `Name: value`.
func fields(_ text: String) -> [HTTPField] {
    text.split(separator: "\n").map { line in
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        return HTTPField(name: String(parts[0]), value: String(parts[1]).trimmingHTTPSpace)
    }
}

/// The date so many seconds after ``epoch``, as HTTP writes it.
func date(_ seconds: Double) -> String { HTTPDate.format(epoch + seconds) }

extension StoredResponse {
    /// An answer that came at ``epoch``, at once, to a request with `requestHeaders`.
    init(_ status: Int = 200, _ headers: String, requestHeaders: String = "", delay: Double = 0) {
        self.init(
            statusCode: status, headers: fields(headers), requestHeaders: fields(requestHeaders),
            requestTime: epoch - delay, responseTime: epoch)
    }
}
