import CWebImageGTK
import FoundationEssentials
import WebImageTestSupport
import XCTest

@testable import WebImageGTK

/// Pictures that a server is asked about again, from a real server.
final class RefreshedPictureTests: GTKTestCase {
    func testAPictureThatTheServerConfirmsIsNotSetAgain() throws {
        try MainActor.assumeIsolated {
            let scene = try Scene()
            try scene.serve(.red)
            scene.load(.cacheFirst)
            XCTAssertEqual(scene.shown, [.nothing, .picture(Swatch.red.pixel)])
            // The same view, the same URL.
            scene.load(.refresh)
            XCTAssertEqual(scene.lastResponse?.isUnchanged, true)
            XCTAssertEqual(scene.shown.count, 2, "neither blanked nor set again")
            // A view that had something else meanwhile shows what is stored, once.
            scene.forget()
            scene.load(.refresh)
            XCTAssertEqual(scene.lastResponse?.isUnchanged, true)
            XCTAssertEqual(scene.shown, [.nothing, .picture(Swatch.red.pixel)])
        }
    }

    func testAPictureThatHasChangedTakesThePlaceOfTheOldOne() throws {
        try MainActor.assumeIsolated {
            let scene = try Scene()
            try scene.serve(.red)
            scene.load(.cacheFirst)
            try scene.serve(Swatch(red: 0, green: 0, blue: 255, width: 40))
            // Served from what is there, unless the policy says otherwise.
            scene.load(.cacheFirst)
            XCTAssertEqual(scene.shown.count, 2)
            scene.load(.refresh)
            XCTAssertEqual(scene.lastResponse?.isUnchanged, false)
            XCTAssertEqual(scene.shown, [.nothing, .picture(Swatch.red.pixel), .picture(Swatch.blue.pixel)])
            XCTAssertEqual(scene.slot.loadState, .loaded(.remote))
        }
    }

    func testAServerThatIsGoneLeavesThePictureThere() throws {
        try MainActor.assumeIsolated {
            let scene = try Scene()
            try scene.serve(.red)
            scene.load(.cacheFirst)
            scene.server.stop()
            scene.load(.refresh)
            XCTAssertNil(scene.lastResponse)
            guard case .failed = scene.slot.loadState else { return XCTFail("\(scene.slot.loadState)") }
            XCTAssertEqual(scene.shown.last, .picture(Swatch.red.pixel))
        }
    }
}

/// What a slot was told to show.
private enum Shown: Equatable {
    case nothing
    case picture(SIMD4<UInt8>)
}

/// A server with one picture, and a slot that notes what it shows.
@MainActor private final class Scene {
    let server: NGINXServer
    let slot: ImageSlot
    private let box: Box
    private let directory: TemporaryDirectory
    private let manager: WebImageManager
    private let window = TestWindow()
    private(set) var lastResponse: WebImageResponse?

    private final class Box { var shown: [Shown] = [] }

    init() throws {
        server = try NGINXServer()
        directory = try TemporaryDirectory()
        let disk = DiskCache(
            configuration: DiskCache.Configuration(
                directory: URL(filePath: directory.path, directoryHint: .isDirectory)))
        manager = WebImageManager(
            configuration: WebImageManager.Configuration(
                cache: ImageCache(memory: MemoryCache(costLimit: 1 << 20), disk: disk), loaders: [ImageDownloader()]))
        let box = Box()
        self.box = box
        slot = ImageSlot(on: window.box) { content in
            switch content {
            case .empty, .placeholder: box.shown.append(.nothing)
            case .image(let image): box.shown.append(.picture(image.pixels[0, 0]))
            }
        }
    }

    isolated deinit { window.close() }

    var shown: [Shown] { box.shown }

    func serve(_ swatch: Swatch) throws {
        try server.write(CodecRegistry.shared.encode(swatch.image(), as: .png), to: "picture.png")
    }

    /// Sets the URL and waits for the end.
    func load(_ policy: CachePolicy) {
        guard let url = try? server.url("/picture.png") else { return XCTFail("no URL") }
        var isOver = false
        slot.setImage(
            WebImageRequest(url, cachePolicy: policy), manager: manager,
            completion: { [weak self] in
                self?.lastResponse = try? $0.get()
                isOver = true
            })
        pump("the end") { isOver }
    }

    /// As if the view had shown something else.
    func forget() {
        slot.prepareForReuse()
        (manager.configuration.cache as? ImageCache)?.memory.removeAll()
        box.shown = []
    }
}
