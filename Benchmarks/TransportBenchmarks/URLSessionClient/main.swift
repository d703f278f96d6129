import Foundation
import FoundationNetworking
import BenchmarkSupport

// URLSession as it does best on Linux: completion handlers, no cache (with one it crashes on cancel), no cookies.
guard let client = TransportClient(CommandLine.arguments.dropFirst()) else {
    print("usage: URLSessionClient BASE-URL CONNECTIONS FILES")
    exit(2)
}
let configuration = URLSessionConfiguration.ephemeral
configuration.httpMaximumConnectionsPerHost = client.connectionCount
configuration.urlCache = nil
configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
configuration.httpCookieStorage = nil
let session = URLSession(configuration: configuration)

client.run { url, completion in
    session.dataTask(with: url) { data, response, error in
        if let data, (response as? HTTPURLResponse)?.statusCode == 200 {
            completion(.success(data))
        } else {
            completion(.failure(error ?? URLError(.badServerResponse)))
        }
    }.resume()
}
