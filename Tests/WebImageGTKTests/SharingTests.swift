import CWebImageGTK
import FoundationEssentials
import GTKObjects
import XCTest

@testable import GTKTestSupport
@testable import WebImageGTK

/// What is on display, for the clipboard, files and other programs.
final class SharingTests: GTKTestCase {
    func testThePaintableIsTheTextureOfTheImage() throws {
        try MainActor.assumeIsolated {
            let picture = WebPicture()
            defer { destroyUnparented(picture) }
            XCTAssertNil(picture.paintable)
            picture.setImage(URL?.none, placeholder: .color(.white))
            XCTAssertNil(picture.paintable)
            picture.image = try Swatch.red.image()
            let paintable = try XCTUnwrap(picture.paintable)
            XCTAssertTrue(ObjectPointer(paintable).isInstance(of: gdk_texture_get_type()))
            XCTAssertEqual(Rendering(of: paintable, width: 4, height: 2)[1, 1], Swatch.red.pixel)
            picture.image = nil
            XCTAssertNil(picture.paintable)
        }
    }

    func testCopiesPixelsAndTheLocation() throws {
        try MainActor.assumeIsolated {
            let (window, picture) = (TestWindow(), WebPicture())
            defer { window.close() }
            window.show(picture)
            XCTAssertFalse(picture.copyImage())
            let file = URL(filePath: TestHome.directory + "/copied.png")
            try CodecRegistry.shared.encode(Swatch.red.image(), as: .png).write(to: file)
            let cache = ImageCache(memory: MemoryCache(costLimit: 1 << 20), disk: nil)
            let manager = WebImageManager(configuration: WebImageManager.Configuration(cache: cache))
            picture.setImage(file, manager: manager)
            pump("the image") { picture.image != nil }
            XCTAssertTrue(picture.copyImage())
            let formats = gdk_clipboard_get_formats(gtk_widget_get_clipboard(picture.widget))
            XCTAssertNotEqual(gdk_content_formats_contain_gtype(formats, gdk_texture_get_type()), 0)
            XCTAssertNotEqual(gdk_content_formats_contain_gtype(formats, gdk_file_list_get_type()), 0)
            XCTAssertNotEqual(gdk_content_formats_contain_mime_type(formats, "image/png"), 0)
        }
    }

    func testContentHasAFileForAFileAndNoLocationForData() throws {
        try MainActor.assumeIsolated {
            let image = try Swatch.red.image()
            @MainActor func formats(_ text: String) -> (file: Bool, link: Bool, texture: Bool) {
                guard let content = image.makeContentProvider(location: URL(string: text)) else {
                    return (false, false, false)
                }
                defer { g_object_unref(UnsafeMutableRawPointer(content)) }
                let formats = gdk_content_provider_ref_formats(content)
                defer { gdk_content_formats_unref(formats) }
                return (
                    gdk_content_formats_contain_gtype(formats, gdk_file_list_get_type()) != 0,
                    gdk_content_formats_contain_mime_type(formats, "text/uri-list") != 0,
                    gdk_content_formats_contain_gtype(formats, gdk_texture_get_type()) != 0
                )
            }
            XCTAssertTrue(formats("file:///tmp/a.png") == (true, false, true))
            XCTAssertTrue(formats("http://host/a.png") == (false, true, true))
            XCTAssertTrue(formats("data:image/png;base64,AA") == (false, false, true))
        }
    }

    func testSavesWhatIsOnDisplayAsPNG() throws {
        try MainActor.assumeIsolated {
            let picture = WebPicture()
            defer { destroyUnparented(picture) }
            let file = URL(filePath: TestHome.directory + "/saved.png")
            @MainActor func save(to file: URL) -> Result<Bool, any Error>? {
                var result: Result<Bool, any Error>?
                Task {
                    do { result = .success(try await picture.saveImage(to: file)) } catch { result = .failure(error) }
                }
                pump("the file") { result != nil }
                return result
            }
            XCTAssertEqual(try save(to: file)?.get(), false)
            picture.image = try Swatch.red.image()
            XCTAssertEqual(try save(to: file)?.get(), true)
            let saved = try CodecRegistry.shared.decode(Data(contentsOf: file))
            XCTAssertEqual(saved.pixels[3, 1], Swatch.red.pixel)
            try FileManager.default.removeItem(at: file)
            let missing = URL(filePath: "/nonexistent/a.png")
            XCTAssertThrowsError(try save(to: missing)?.get()) {
                XCTAssertEqual($0 as? WebImageError, .file(path: "/nonexistent/a.png", errno: ENOENT))
            }
        }
    }

    func testIsADragSourceOnlyIfItIsDraggable() throws {
        try MainActor.assumeIsolated {
            let picture = WebPicture()
            defer { destroyUnparented(picture) }
            @MainActor func source() -> ObjectPointer? {
                let controllers = gtk_widget_observe_controllers(picture.widget)
                defer { controllers.map { g_object_unref(UnsafeMutableRawPointer($0)) } }
                for index in 0..<g_list_model_get_n_items(controllers) {
                    guard let item = g_list_model_get_item(controllers, index) else { continue }
                    defer { g_object_unref(item) }
                    if ObjectPointer(item).isInstance(of: gtk_drag_source_get_type()) { return ObjectPointer(item) }
                }
                return nil
            }
            XCTAssertNil(source())
            picture.isDraggable = true
            XCTAssertTrue(picture.isDraggable)
            let drag = try XCTUnwrap(source())
            XCTAssertNil(prepare(drag), "no image")
            picture.image = try Swatch.red.image()
            let content = try XCTUnwrap(prepare(drag))
            defer { g_object_unref(content.address) }
            let formats = gdk_content_provider_ref_formats(
                content.address.assumingMemoryBound(to: GdkContentProvider.self))
            defer { gdk_content_formats_unref(formats) }
            XCTAssertNotEqual(gdk_content_formats_contain_gtype(formats, gdk_texture_get_type()), 0)
            picture.isDraggable = false
            XCTAssertNil(source())
        }
    }
}

/// What a source offers when a drag begins; the caller owns it.
@MainActor private func prepare(_ source: ObjectPointer) -> ObjectPointer? {
    var arguments = [GValue(), GValue(), GValue()]
    g_value_init(&arguments[0], gtk_drag_source_get_type())
    g_value_set_object(&arguments[0], source.address)
    for index in 1...2 { g_value_init(&arguments[index], 15 << 2) }
    var result = GValue()
    g_value_init(&result, gdk_content_provider_get_type())
    g_signal_emitv(arguments, g_signal_lookup("prepare", gtk_drag_source_get_type()), 0, &result)
    defer {
        for index in arguments.indices { g_value_unset(&arguments[index]) }
        g_value_unset(&result)
    }
    return g_value_dup_object(&result).map { ObjectPointer($0) }
}
