import Foundation
import Testing
import WebImage
import WebImageTestSupport

@testable import WebImageShared

/// Tests with a store between machines and their origin.
protocol FleetSuite: Sendable {
    var origin: OriginServer { get }
    var location: S3Location { get }
    var credential: S3Credential { get }
}

extension FleetSuite {
    /// The machine is shared and slow at times.
    func configuration(_ location: S3Location? = nil, _ credential: S3Credential? = nil)
        -> SharedImageCache.Configuration
    {
        var configuration = SharedImageCache.Configuration(
            location: location ?? self.location, credential: credential ?? self.credential)
        configuration.budget.connect = .seconds(2)
        configuration.budget.firstByte = .seconds(5)
        return configuration
    }

    func client() -> S3Client { S3Client(configuration()) }

    /// Returns a location in a new bucket.
    static func makeBucket(port: Int, _ credential: S3Credential) async throws -> S3Location {
        let name = "fleet-\(UInt32.random(in: 0...UInt32.max))"
        let location = try S3Location("s3://\(name)/p?endpoint=http://127.0.0.1:\(port)")
        var configuration = SharedImageCache.Configuration(location: location, credential: credential)
        configuration.budget.firstByte = .seconds(20)
        let response = try await S3Client(configuration).send(.put, nil)
        #expect(response.statusCode == 200)
        return location
    }

    /// A machine with empty caches of its own.
    func machine(_ cache: SharedImageCache) -> WebImageManager {
        var configuration = WebImageManager.Configuration(
            cache: ImageCache(memory: MemoryCache(configuration: .images), disk: nil))
        configuration.share(cache)
        return WebImageManager(configuration: configuration)
    }

    static func picture(_ level: UInt8 = 90) throws -> Data {
        var pixels = try MutablePixelBuffer(width: 9, height: 7)
        pixels.withUnsafeMutableBytes { bytes in
            for index in bytes.indices { bytes[index] = index % 4 == 3 ? 255 : level }
        }
        return try CodecRegistry.shared.encode(Image(pixels: pixels.freeze(isOpaque: true)), as: .png)
    }

    func load(
        _ path: String, on cache: SharedImageCache, _ change: (inout WebImageRequest) -> Void = { _ in }
    ) async throws -> WebImageResponse {
        var request = WebImageRequest(try origin.url(path))
        request.cachePolicy = .http
        change(&request)
        return try await machine(cache).response(for: request)
    }

    /// Loads, and returns the load's trace.
    func trace(of path: String, on cache: SharedImageCache) async throws -> String {
        var request = WebImageRequest(try origin.url(path))
        request.cachePolicy = .http
        let operation = machine(cache).load(request)
        _ = try await operation.response
        return operation.traceDescription
    }

    func requestCount(_ path: String) async throws -> Int {
        try await origin.requests().count { $0.path == path }
    }
}
