import CodingTestSupport
import FoundationEssentials
import Glibc
import Testing
import WebImageCoding
import WebImageCore
import WebImageTestSupport

@testable import WebImageIsolation

/// What is isolated is decoded in other processes or not at all.
@Suite(.timeLimit(.minutes(3))) struct IsolationPolicyTests {
    private static let missing = IsolatedDecoding(configuration: .init(decoder: "missing-decoder"))

    /// As of a control group.
    @Test func theNumberOfProcessesFollowsTheMemory() {
        func count(_ mebibytes: Int) -> Int {
            IsolatedDecoding.Configuration.defaultProcessCount(memoryByteCount: mebibytes << 20)
        }
        #expect(count(0) == 1 && count(200) == 1 && count(600) <= 2)
        #expect(count(1 << 20) == min(PlatformThread.processorCount, 4))
    }

    // MARK: Without a process

    /// Fails the test if the program decodes or encodes itself.
    private struct Spy: OwnDecoder, MetadataDecoder, ProfileDecoder, GainMapDecoder, AnimationEncoder {
        let format: ImageFormat

        private func recordCall(_ name: String = #function) -> WebImageError {
            Issue.record("\(format.name): the program itself was called for \(name)")
            return .cancelled
        }

        func info(of data: Data) throws(WebImageError) -> ImageInfo { throw recordCall() }
        func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image { throw recordCall() }
        func probe(_ prefix: Data) throws(WebImageError) -> ImageProbe? { throw recordCall() }
        func metadata(of data: Data) throws(WebImageError) -> ImageMetadata { throw recordCall() }
        func colorProfile(of data: Data) throws(WebImageError) -> ColorProfile? { throw recordCall() }
        func gainMap(of data: Data) throws(WebImageError) -> StoredGainMap? { throw recordCall() }
        func animation(of data: Data, options: DecodingOptions) throws(WebImageError) -> (any AnimationSource)? {
            throw recordCall()
        }
        func makeIncrementalDecoder(options: DecodingOptions) -> (any IncrementalImageDecoder)? {
            _ = recordCall()
            return nil
        }
        func encode(_ image: Image, options: EncodingOptions) throws(WebImageError) -> Data { throw recordCall() }
        func encode(_ animation: EncodableAnimation, options: EncodingOptions) throws(WebImageError) -> Data {
            throw recordCall()
        }
    }

    private func isUnavailable(_ format: ImageFormat, _ body: () throws(WebImageError) -> Void) -> Bool {
        do throws(WebImageError) {
            try body()
            return false
        } catch {
            guard case .isolation(format, .unavailable(let reason), _) = error else { return false }
            return reason.contains("missing-decoder cannot be executed")
        }
    }

    @Test(arguments: ImageFormat.known) func nothingIsDecodedOrEncodedInTheProgram(format: ImageFormat) throws {
        let spy = Spy(format: format)
        let registry = CodecRegistry(decoders: [spy], encoders: [spy])
            .isolated(by: .allFormats, in: Self.missing, encoders: true)
        let decoder = try #require(registry.decoder(of: format) as? IsolatedDecoder)
        let (data, options) = (Data("file".utf8), DecodingOptions())
        let calls: [(String, () throws(WebImageError) -> Void)] = [
            ("info", { () throws(WebImageError) in _ = try decoder.info(of: data) }),
            ("probe", { () throws(WebImageError) in _ = try decoder.probe(data) }),
            ("metadata", { () throws(WebImageError) in _ = try decoder.metadata(of: data) }),
            ("profile", { () throws(WebImageError) in _ = try decoder.colorProfile(of: data) }),
            ("gain map", { () throws(WebImageError) in _ = try decoder.gainMap(of: data) }),
            ("decode", { () throws(WebImageError) in _ = try decoder.decode(data, options: options) }),
            ("animation", { () throws(WebImageError) in _ = try decoder.animation(of: data, options: options) }),
        ]
        for (name, call) in calls { #expect(isUnavailable(format, call), "\(name)") }
        if let incremental = decoder.makeIncrementalDecoder(options: options) {
            #expect(isUnavailable(format) { () throws(WebImageError) in try incremental.append(data) })
        }

        let image = try IsolatedDecodingTests.image(PixelSize(width: 2, height: 2))
        #expect(isUnavailable(format) { () throws(WebImageError) in _ = try registry.encode(image, as: format) })
        var animation = EncodableAnimation()
        for _ in 0..<2 { animation.append(image) }
        #expect(
            isUnavailable(format) { () throws(WebImageError) in _ = try registry.encode(animation, as: format) })
    }

    @Test func framesAreAnErrorOnceNoProcessCanBeStarted() throws {
        let directory = try TemporaryDirectory()
        var configuration = IsolatedDecoding.Configuration(decoder: "webimage-decoder")
        let program = try #require(configuration.path)
        configuration.path = directory.path("decoder")
        try #require(symlink(program, directory.path("decoder")) == 0)
        let isolation = IsolatedDecoding(configuration: configuration)
        let registry = CodecRegistry.builtIn.isolated(by: .allFormats, in: isolation)
        let data = try CodecRegistry.builtIn.encode(IsolatedDecodingTests.animation(), as: .gif)
        let reader = try #require(try registry.animation(of: data)).makeFrameReader()
        _ = try reader.frame(at: 0, cancellation: nil)
        let incremental = try #require(try registry.makeIncrementalDecoder(startingWith: data))
        try incremental.append(data)

        unlink(directory.path("decoder"))
        isolation.endIdleProcesses()
        func expectUnavailable(_ body: () throws -> Void) {
            let error = #expect(throws: WebImageError.self) { try body() }
            guard case .isolation(.gif, .unavailable, _) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
        expectUnavailable { _ = try reader.frame(at: 1, cancellation: nil) }
        expectUnavailable { _ = try incremental.preview() }
        expectUnavailable { _ = try incremental.finish() }
    }

    @Test func formatsWithoutTheirProgramAreNotRequestedAndNotOffered() {
        let without = CodecRegistry.shared.isolated(by: .libraryFormats, in: Self.missing)
        #expect(
            without.acceptHeaders["Accept"]?.hasPrefix("image/webp,image/jpeg,image/png,image/gif") == true,
            "\(without.acceptHeaders)")
        #expect(without.acceptHeaders["Accept"]?.contains("avif") == false)
        #expect(!without.canEncode(.avif) && !without.canEncodeAnimation(as: .avif))
        #expect(without.canEncode(.webp) && without.canEncodeAnimation(as: .webp))
    }

    @Test func withoutTheProgramAFormatIsListedButCannotBeDecoded() throws {
        let png = try CodecRegistry.builtIn.encode(
            IsolatedDecodingTests.image(PixelSize(width: 2, height: 2)), as: .png)
        let present = IsolatedDecoding(configuration: .init(decoder: "webimage-decoder"))
        for (isolation, isThere) in [(Self.missing, false), (present, true)] {
            let registry = CodecRegistry.builtIn.isolated(by: .allFormats, in: isolation)
            #expect(registry.readableFormats.contains(.png) && registry.decoders.contains { $0.format == .png })
            #expect(registry.canDecode(.png) == isThere && registry.canDecode(png.prefix(18)) == isThere)
            // Nothing was started for this.
            #expect(isolation.pool.counters.startedProcessCount == 0)
        }
        let shared = CodecRegistry.shared.isolated(by: .libraryFormats, in: Self.missing)
        #expect(!shared.canDecode(.svg) && shared.canDecode(.png))
    }

    @Test func aRemovedFormatIsNotDecodedInAProcess() throws {
        let registry = CodecRegistry.builtIn.isolated(by: .allFormats, in: Self.missing)
        let png = try CodecRegistry.builtIn.encode(
            IsolatedDecodingTests.image(PixelSize(width: 2, height: 2)), as: .png)
        #expect(isUnavailable(.png) { () throws(WebImageError) in _ = try registry.decode(png) })
        registry.unregisterDecoders { $0.format == .png }
        #expect(!registry.canDecode(.png) && CodecRegistry.builtIn.canDecode(.png))
        #expect(throws: WebImageError.decoding(format: .png, reason: .noDecoder)) { try registry.decode(png) }
    }

    // MARK: Layers

    @Test func missingLayersThatAreDemandedAreAnError() throws {
        try IsolatedDecoding.withoutSandbox { isolation in
            let file = MisbehaviorTests.file("fine")
            #expect(throws: Never.self) { try CodecRegistry().isolated(by: .allFormats, in: isolation).decode(file) }
            let demanding = CodecRegistry().isolated(
                by: .allFormats.requiring([.systemCallFilter]).requiring([.landlock]), in: isolation)
            #expect(demanding.canDecode(.gif) == false && demanding.canDecode(file) == false)
            #expect(CodecRegistry().isolated(by: .allFormats, in: isolation).canDecode(file))
            // A further policy takes no demand away.
            for registry in [demanding, demanding.isolated(by: .libraryFormats)] {
                let error = #expect(throws: WebImageError.self) { try registry.decode(file) }
                guard case .isolation(.png, .missingLayers(let layers), _) = error else {
                    Issue.record("\(String(describing: error))")
                    continue
                }
                #expect(Set(layers) == [SandboxLayer.systemCallFilter.rawValue, SandboxLayer.landlock.rawValue])
            }
        }
    }

    @Test func formatsOfThisProcessNeedNoLayers() throws {
        try IsolatedDecoding.withoutSandbox { isolation in
            let registry = CodecRegistry.shared.isolated(
                by: .libraryFormats.requiring([.systemCallFilter]), in: isolation)
            let file = try registry.encode(IsolatedDecodingTests.image(PixelSize(width: 2, height: 2)), as: .png)
            #expect(throws: Never.self) { try registry.decode(file) }
        }
    }

    #if WEBIMAGE_FORMATS
        @Test func formatsOfLibrariesNeedLayersToo() throws {
            try IsolatedDecoding.withoutSandbox { isolation in
                let registry = CodecRegistry.shared.isolated(
                    by: .libraryFormats.requiring([.systemCallFilter]), in: isolation)
                let expected = WebImageError.isolation(
                    format: .avif, reason: .missingLayers([SandboxLayer.systemCallFilter.rawValue]))
                let image = try IsolatedDecodingTests.image(PixelSize(width: 2, height: 2))
                let file = try CodecRegistry.shared.encode(image, as: .avif)
                #expect(throws: expected) { try registry.decode(file) }
                #expect(throws: expected) { try registry.encode(image, as: .avif) }
            }
        }

        // MARK: The shared registry

        @Test func theProcessesOfAManagerDecodeTheFormatsOfLibraries() throws {
            let isolation = IsolatedDecoding(configuration: .init(decoder: "webimage-decoder"))
            let registry = CodecRegistry.shared.isolated(by: .libraryFormats, in: isolation)
            let image = try IsolatedDecodingTests.image(PixelSize(width: 20, height: 10))
            let file = try registry.encode(image, as: .avif)
            #expect(isolation.pool.counters.imageCount == 1)
            _ = try registry.decode(file)
            #expect(isolation.pool.counters.imageCount == 2)
            // Processes that were chosen stay, and other formats are decoded here.
            _ = try registry.isolated(by: .libraryFormats, in: Self.missing).decode(file)
            #expect(isolation.pool.counters.imageCount == 3)
            _ = try registry.decode(registry.encode(image, as: .png))
            #expect(isolation.pool.counters.imageCount == 3)
        }

        @Test func iconsHaveTheirJPEG2000DecodedInAProcess() throws {
            let isolation = IsolatedDecoding(configuration: .init(decoder: "webimage-decoder"))
            let image = try IsolatedDecodingTests.image(PixelSize(width: 128, height: 128))
            let file = try IsolatedDecodingTests.local.encode(
                image, as: .jpeg2000, options: EncodingOptions(isLossless: true))
            let entry = Data("ic07".utf8) + Data(bigEndian: file.count + 8) + file
            let icon = Data("icns".utf8) + Data(bigEndian: entry.count + 8) + entry
            for policy in [IsolationPolicy.libraryFormats, .allFormats] {
                let before = isolation.pool.counters.imageCount
                let decoded = try CodecRegistry.shared.isolated(by: policy, in: isolation).decode(icon)
                #expect(decoded.format == .icns && decoded.pixels.isEqual(to: image.pixels))
                #expect(isolation.pool.counters.imageCount == before + 1)
            }
            let missing = CodecRegistry.shared.isolated(by: .libraryFormats, in: Self.missing)
            let error = #expect(throws: WebImageError.self) { try missing.decode(icon) }
            guard case .isolation(.jpeg2000, .unavailable, _) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }

        @Test func HEICIsEncodedOnRequestOnly() throws {
            let registry = CodecRegistry.shared.isolated(by: .libraryFormats)
            let image = try IsolatedDecodingTests.image(PixelSize(width: 64, height: 64))
            #expect(!registry.canEncode(.heic))
            #expect(throws: WebImageError.encoding(format: .heic, reason: .noEncoder)) {
                try registry.encode(image, as: .heic)
            }
        }

        @Test(.enabled(if: IsolatedDecodingTests.local.canEncode(.heic), "libheif has no encoder here"))
        func HEICIsEncodedOnceRegistered() throws {
            let registry = CodecRegistry.shared.isolated(by: .libraryFormats)
            let image = try IsolatedDecodingTests.image(PixelSize(width: 64, height: 64))
            registry.registerHEICEncoder()
            #expect(try registry.info(of: registry.encode(image, as: .heic)).format == .heic)
        }
    #endif
}

extension Data {
    /// Four bytes, the first of which is the most significant.
    fileprivate init(bigEndian number: Int) {
        self.init((0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - $0 * 8)) })
    }
}
