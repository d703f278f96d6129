import Foundation
import Testing
import WebImage
import WebImageTestSupport

@testable import WebImageShared

extension S3Server {
    /// The store of the suites that leave it running.
    static let ofFleet = Result { try S3Server() }
}

/// A store that tests start.
protocol TestStore {
    var port: Int { get }
    var keyID: String { get }
    var secret: String { get }
}

extension S3Server: TestStore {}
extension OpenStackServer: TestStore {}

/// An origin, and a new bucket in a store.
struct Fleet: Sendable {
    let origin: OriginServer
    let location: S3Location
    let credential: S3Credential

    init(of store: some TestStore) async throws {
        origin = try OriginServer()
        credential = S3Credential(keyID: store.keyID, secret: store.secret)
        location = try S3Location(
            "s3://fleet-\(UInt32.random(in: 0...UInt32.max))/p?endpoint=http://127.0.0.1:\(store.port)")
        var configuration = SharedImageCache.Configuration(location: location, credential: credential)
        configuration.budget.firstByte = .seconds(20)
        let response = try await S3Client(configuration).send(.put, nil)
        #expect(response.statusCode == 200)
    }
}

/// Tests with a store between machines and their origin.
protocol FleetSuite: Sendable {
    var fleet: Fleet { get }
}

extension FleetSuite {
    var origin: OriginServer { fleet.origin }
    var location: S3Location { fleet.location }
    var credential: S3Credential { fleet.credential }

    /// The machine is shared and slow at times.
    func configuration(_ location: S3Location? = nil, _ credential: S3Credential? = nil)
        -> SharedImageCache.Configuration
    {
        var configuration = SharedImageCache.Configuration(
            location: location ?? self.location, credential: credential ?? self.credential)
        configuration.secret = nil
        configuration.budget.connect = .seconds(2)
        configuration.budget.firstByte = .seconds(5)
        return configuration
    }

    /// Returns what is stored for a path; `nil` for nothing, or another kind of object.
    func storedBody(_ path: String, secret: SharedSecret? = nil) async throws -> Data? {
        let name = try origin.url(path).absoluteString
        let response = try await client().send(.get, SharedObject.key(of: name), byteLimit: 16 << 20)
        guard response.statusCode == 200 else { return nil }
        let object = SharedObject(response.body, name: name, secret: secret)
        return object?.kind == .response ? object?.content : nil
    }

    /// Replaces the content of what is stored for a path, as an earlier version or a forger could.
    func replaceBody(_ path: String, with body: Data, change: (inout SharedObject) -> Void = { _ in }) async throws {
        let name = try origin.url(path).absoluteString
        let stored = try await client().send(.get, SharedObject.key(of: name), byteLimit: 16 << 20).body
        var object = try #require(SharedObject(stored, name: name, secret: nil))
        object.content = body
        change(&object)
        let response = try await client().send(.put, SharedObject.key(of: name), body: object.encoded(secret: nil))
        #expect(response.statusCode == 200)
    }

    func client() -> S3Client { S3Client(configuration()) }

    /// A machine with empty caches of its own.
    func machine(
        _ cache: SharedImageCache, _ change: (inout WebImageManager.Configuration) -> Void = { _ in }
    ) -> WebImageManager {
        var configuration = WebImageManager.Configuration(
            cache: ImageCache(memory: MemoryCache(configuration: .images), disk: nil))
        change(&configuration)
        configuration.share(cache)
        return WebImageManager(configuration: configuration)
    }

    static func picture(_ level: UInt8 = 90, width: Int = 9, height: Int = 7) throws -> Data {
        var pixels = try MutablePixelBuffer(width: width, height: height)
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
