import FoundationEssentials
import Testing
@testable import WebImage
import WebImageTestSupport
import WebImageTesting

/// Properties of any sequence of requests, responses and times.
@Suite(.timeLimit(.minutes(1))) struct CachePropertyTests {
    /// An answer of the server, which its body names.
    private struct Sent {
        let path: String
        let time: Date
        let lifetime: Double
        let mayStore: Bool
        /// The language it is for; `nil` where it is for all.
        let language: String?
    }

    @Test(arguments: 0..<8) func neverServesStaleForbiddenOrForeignResponses(_ seed: UInt64) async throws {
        let directory = try TemporaryDirectory()
        let time = TestTime()
        let random = LockBox(SplitMix64(seed: seed))
        let sent = LockBox<[Sent]>([])
        let loader = TestImageLoader { request in
            random.withLock { random in
                let lifetime = Double(Int.random(in: 0...60, using: &random))
                let mayStore = Int.random(in: 0..<4, using: &random) > 0
                let varies = Bool.random(using: &random)
                var headers = ["Cache-Control": mayStore ? "max-age=\(Int(lifetime))" : "no-store"]
                if varies { headers["Vary"] = "accept-language" }
                let number = sent.withLock { sent in
                    sent.append(
                        Sent(
                            path: request.url.path, time: time.now, lifetime: lifetime, mayStore: mayStore,
                            language: varies ? request.headers["Accept-Language"] : nil))
                    return sent.count - 1
                }
                return .response(200, headers: headers, body: Data("\(number)".utf8))
            }
        }
        var configuration = WebImageManager.Configuration(
            cache: ImageCache(memory: MemoryCache(costLimit: 1 << 20), disk: DiskCache(in: directory)),
            loaders: [loader])
        configuration.environment.date = { time.now }
        let manager = WebImageManager(configuration: configuration)

        var servedCount = 0
        for _ in 0..<300 {
            let (path, language, pause, changes) = random.withLock { random in
                (
                    "/\(Int.random(in: 0..<3, using: &random))",
                    ["de", "en", "fr"].randomElement(using: &random) ?? "",
                    Double(Int.random(in: 0...20, using: &random)), Int.random(in: 0..<20, using: &random) == 0
                )
            }
            time.advance(seconds: pause)
            let url = try #require(URL(string: "answering://host\(path)"))
            let request = WebImageRequest(url, cachePolicy: .http, headers: ["Accept-Language": language])
            if changes {
                _ = try await manager.dataResponse(for: request.with { $0.method = .post })
                continue
            }
            let before = sent.withLock { $0.count }
            let response = try await manager.dataResponse(for: request)
            let number = try #require(Int(String(decoding: response.data, as: UTF8.self)))
            let (answer, after) = sent.withLock { ($0[number], $0.count) }
            #expect(answer.path == path)
            #expect(answer.language == nil || answer.language == language)
            guard response.origin == .diskCache else {
                #expect(number == before && after == before + 1)
                continue
            }
            servedCount += 1
            #expect(after == before)
            #expect(answer.mayStore)
            #expect(time.now.timeIntervalSince(answer.time) < answer.lifetime)
        }
        #expect(servedCount > 20, "the cache did answer")
    }
}
