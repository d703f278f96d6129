import CWebImageGTK
import Foundation
import GTKObjects
import WebImageTestSupport
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK
@testable import WebImageCoding

/// Images that the viewer saves as files.
final class GallerySavingTests: GTKTestCase {
    func testSavesTheBytesAsTheyCame() throws {
        try ViewerFixture.with { fixture in
            let file = try fixture.write(try picture(60, 40) { x, y in shade((x + y) % 50) }, "a.png")
            fixture.open([file])
            fixture.settle()
            let copy = fixture.folder.appendingPathComponent("copy.png")
            fixture.save(file, PhotoExport(), to: copy)
            XCTAssertEqual(try Data(contentsOf: copy), try Data(contentsOf: file))
            XCTAssertEqual(fixture.toasts, ["Saved as copy.png"])
        }
    }

    func testSavesConvertedPixels() throws {
        try ViewerFixture.with { fixture in
            let image = try picture(60, 40) { x, y in SIMD4(UInt8(x * 4), UInt8(y * 6), 9, 255) }
            let file = try fixture.write(image, "a.png")
            let rotated = fixture.folder.appendingPathComponent("rotated.webp")
            fixture.save(
                file, PhotoExport(format: .webp, isLossless: true, quarterTurns: 1), to: rotated)
            let result = try CodecRegistry.shared.decode(try Data(contentsOf: rotated))
            XCTAssertEqual(result.format, .webp)
            XCTAssertEqual(result.pixels.size, PixelSize(width: 40, height: 60))
            for (x, y) in [(0, 0), (59, 0), (0, 39), (59, 39), (17, 23)] {
                XCTAssertEqual(result.pixels[39 - y, x], image.pixels[x, y])
            }
            let small = fixture.folder.appendingPathComponent("small.jpg")
            fixture.save(file, PhotoExport(format: .jpeg, longestSide: 30), to: small)
            XCTAssertEqual(
                try CodecRegistry.shared.info(of: try Data(contentsOf: small)).size, PixelSize(width: 30, height: 20))
        }
    }

    func testSaysWhySavingFailed() throws {
        try ViewerFixture.with { fixture in
            let file = try fixture.write(try picture(8, 8) { _, _ in shade(3) }, "a.png")
            fixture.save(file, PhotoExport(), to: fixture.folder.appendingPathComponent("missing/b.png"))
            XCTAssertEqual(fixture.toasts, ["b.png cannot be saved: No such file or directory"])
        }
    }

    func testACancelledSaveEndsItsLoadAndLeavesTheFileAsItWas() throws {
        try ViewerFixture.with(isManual: true) { fixture in
            let url = try XCTUnwrap(URL(string: "manual://host/photo.png"))
            let file = fixture.folder.appendingPathComponent("photo.png")
            try Data("former".utf8).write(to: file)
            fixture.viewer.save(url, as: PhotoExport(), to: file)
            pump("the request") { fixture.loader.lastLoad(of: url) != nil }
            let bar = fixture.viewer.savingBar
            pump("the bar") { bar.widget.isVisible && fixture.viewer.progress.widget.isVisible }
            bar.cancelButton.emit("clicked")
            pump("the message") { !fixture.toasts.isEmpty }
            XCTAssertEqual(fixture.toasts, ["photo.png was not saved"])
            XCTAssertEqual(fixture.loader.lastLoad(of: url)?.isCancelled, true)
            XCTAssertFalse(bar.isActive || bar.widget.isVisible || fixture.viewer.progress.widget.isVisible)
            XCTAssertEqual(try fixture.files(), ["photo.png"])
            XCTAssertEqual(try Data(contentsOf: file), Data("former".utf8))
        }
    }

    func testASaveIsCancelledWhileItWaitsToBeEncoded() throws {
        try ViewerFixture.with { fixture in
            let file = try fixture.write(try picture(60, 40) { x, y in shade((x + y) % 50) }, "a.png")
            let (isBusy, end) = (LockBox(false), DispatchSemaphore(value: 0))
            PhotoExport.queue.async {
                isBusy.withLock { $0 = true }
                end.wait()
            }
            defer { end.signal() }
            pump("the thread is busy") { isBusy.withLock { $0 } }
            let loadCount = fixture.session.loads.records.count
            for name in ["b.webp", "c.jpg"] {
                fixture.viewer.save(
                    file, as: PhotoExport(format: ImageFormat(named: (name as NSString).pathExtension)),
                    to: fixture.folder.appendingPathComponent(name))
            }
            pump("both are loaded") { fixture.session.loads.records.count == loadCount + 2 }
            let keys = fixture.viewer.savingBar.widget.controllers(gtk_event_controller_key_get_type())
            try XCTUnwrap(keys.first).emit("key-pressed", Int(GDK_KEY_Escape))
            XCTAssertTrue(fixture.viewer.savingBar.isActive, "until the saves have ended")
            end.signal()
            pump("the messages") { fixture.toasts.count == 2 }
            XCTAssertEqual(fixture.toasts.sorted(), ["b.webp was not saved", "c.jpg was not saved"])
            XCTAssertEqual(try fixture.files(), ["a.png"])
        }
    }

    func testConversionStopsAtTheCheckThatFindsItCancelled() throws {
        let original = try CodecRegistry.shared.encode(
            try picture(600, 400) { x, y in shade((x + y) % 50) }, as: .png)
        /// Returns the error and the number of checks.
        func convert(cancellingAt limit: Int?) -> (WebImageError?, Int) {
            let checkpoints = Checkpoints(cancellingAt: limit)
            let result = Result { () throws(WebImageError) in
                try PhotoExport(format: .png, quarterTurns: 1).encode(original, checkpoints.cancellation)
            }
            let error: WebImageError? = if case .failure(let error) = result { error } else { nil }
            return (error, checkpoints.count)
        }
        let (error, checkCount) = convert(cancellingAt: nil)
        XCTAssertNil(error)
        // The first one is of the decoder, the last one of the encoder.
        for limit in [1, checkCount / 2, checkCount] {
            let (error, count) = convert(cancellingAt: limit)
            XCTAssertEqual(error, .cancelled)
            XCTAssertEqual(count, limit)
        }
    }

    func testAFileBeyondTheLimitOfPixelsIsConvertedScaledAndCropped() throws {
        let (side, limit) = LargePNG.sideBeyondLimit
        try ViewerFixture.with(configure: { $0.decodingLimits.pixelCount = limit }) { fixture in
            let file = try fixture.write(LargePNG.data(side: side), "large.png")
            for (export, name, size) in [
                (PhotoExport(format: .jpeg, longestSide: 300), "small.jpg", PixelSize(width: 300, height: 300)),
                (
                    PhotoExport(crop: PixelRect(x: side - 400, y: side - 300, width: 200, height: 100)), "part.png",
                    PixelSize(width: 200, height: 100)
                ),
            ] {
                let copy = fixture.folder.appendingPathComponent(name)
                let count = fixture.toasts.count
                fixture.viewer.save(file, as: export, to: copy)
                // A debug build decodes slowly.
                pump("the file", seconds: 90) { fixture.toasts.count > count }
                XCTAssertEqual(fixture.toasts.last, "Saved as \(name)")
                XCTAssertEqual(try CodecRegistry.shared.info(of: try Data(contentsOf: copy)).size, size)
            }
        }
    }

    func testSavingRetainsAnApplicationThatQuits() throws {
        try ViewerFixture.with { fixture in
            /// An object that the application owns.
            @MainActor final class Owned {
                static let key = AssociationKey<Owned>("gallery-tests-owned")
                static weak var last: Owned?
            }
            let file = try fixture.write(try picture(30, 20) { _, _ in shade(7) }, "a.png")
            try runApplication { application in
                let owned = Owned()
                Owned.key.set(owned, on: application)
                Owned.last = owned
                fixture.viewer.save(file, as: PhotoExport(), to: fixture.folder.appendingPathComponent("b.png"))
                g_application_quit(application.as())
            }
            XCTAssertNotNil(Owned.last)
            pump("the file") { fixture.toasts == ["Saved as b.png"] }
            pump("the release") { Owned.last == nil }
        }
    }

    func testAnImageThatIsNoFileKeepsItsLimit() throws {
        try ViewerFixture.with { fixture in
            let url = try XCTUnwrap(URL(string: "data:image/png;base64," + LargePNG.data().base64EncodedString()))
            fixture.save(
                url, PhotoExport(format: .jpeg, longestSide: 300), to: fixture.folder.appendingPathComponent("a.jpg"))
            XCTAssertEqual(fixture.toasts.last?.contains("10400×10400 pixels, more than the 100000000"), true)
        }
    }

    func testTheSwitchDecidesWhetherTheFileTellsCameraAndPlace() throws {
        try ViewerFixture.with { fixture in
            let (camera, place) = ("Wandering Camera", "Matterhorn 45.9763 7.6586")
            var directory = TIFFDirectory()
            directory.set(0x010F, type: 2, Array("\(camera)\0".utf8))
            directory.set(0x010E, type: 2, Array("\(place)\0".utf8))
            var options = EncodingOptions()
            options.metadata = ImageMetadata(
                exif: Data(directory.structure()),
                xmp: Data("<x:xmpmeta xmlns:x=\"adobe:ns:meta/\">\(place)</x:xmpmeta>".utf8))
            let file = fixture.folder.appendingPathComponent("photo.jpg")
            try CodecRegistry.shared.encode(
                try picture(60, 40) { x, y in shade((x + y) % 50) }, as: .jpeg, options: options
            ).write(to: file)
            let root = ObjectPointer(fixture.window.window)
            for quarterTurns in [0, 1] {
                for keepsMetadata in [true, false] {
                    let dialog = SaveDialog(file, original: .jpeg, quarterTurns: quarterTurns, over: root) { _, _ in }
                    XCTAssertTrue(dialog.export.keepsMetadata)
                    dialog.metadataSwitch.set("active", keepsMetadata)
                    XCTAssertEqual(dialog.export.keepsMetadata, keepsMetadata)
                    for format in [ImageFormat.jpeg, .png, .webp] {
                        var export = dialog.export
                        export.format = format
                        let name = "\(format.name)-\(quarterTurns)-\(keepsMetadata)"
                        let copy = fixture.folder.appendingPathComponent("\(name).\(format.fileExtension)")
                        fixture.save(file, export, to: copy)
                        let saved = try Data(contentsOf: copy)
                        let metadata = try CodecRegistry.shared.metadata(of: saved)
                        let fields = metadata.exif.flatMap { EXIFFields($0) }
                        XCTAssertEqual(fields?.camera, keepsMetadata ? camera : nil, name)
                        XCTAssertEqual(metadata.xmp != nil, keepsMetadata, name)
                        // Whatever reads the file: PNG may compress its texts, the others do not.
                        if format != .png {
                            for text in [camera, place] {
                                XCTAssertEqual(saved.range(of: Data(text.utf8)) != nil, keepsMetadata, name)
                            }
                        }
                    }
                    dialog.close()
                }
            }
        }
    }

    func testSuggestsANameWithTheFormatsExtension() throws {
        let url = try XCTUnwrap(URL(string: "https://host/a/photo.one.png?size=3"))
        XCTAssertEqual(PhotoExport().fileName(for: url, original: .png), "photo.one.png")
        XCTAssertEqual(PhotoExport(format: .jpeg).fileName(for: url, original: .png), "photo.one.jpg")
        XCTAssertEqual(PhotoExport().fileName(for: url, original: .webp), "photo.one.webp")
    }

    func testTheDialogOffersOnlyWhatTheFormatHas() throws {
        try ViewerFixture.with { fixture in
            let file = try fixture.write(try picture(8, 8) { _, _ in shade(3) }, "a.png")
            let root = ObjectPointer(fixture.window.window)
            let dialog = SaveDialog(file, original: .png, quarterTurns: 0, over: root) { _, _ in }
            XCTAssertNil(dialog.export.format)
            let turned = SaveDialog(file, original: .png, quarterTurns: 1, over: root) { _, _ in }
            XCTAssertEqual(turned.export.format, .png, "rotated pixels must be encoded")
            XCTAssertFalse(turned.export.usesQuality)
            XCTAssertTrue(PhotoExport(format: .webp).canBeLossless)
            XCTAssertFalse(PhotoExport(format: .jpeg).canBeLossless)
            for dialog in [dialog, turned] { dialog.close() }
        }
    }

    func testTheDialogIsAsHighAsItsContent() throws {
        try ViewerFixture.with { fixture in
            fixture.open([try fixture.write(try picture(80, 60) { _, _ in shade(3) }, "a.png")])
            fixture.settle()
            let preview = fixture.viewer.canvas.makePaintable(maximumSide: 320).map { ObjectPointer($0) }
            defer { if let preview { g_object_unref(preview.address) } }
            XCTAssertEqual(preview.map { gdk_paintable_get_intrinsic_width($0.opaque) }, 80)
            let dialog = SaveDialog(
                fixture.session.collection.urls[0], original: .png, quarterTurns: 0, preview: preview,
                over: ObjectPointer(fixture.window.window)
            ) { _, _ in }
            dialog.present()
            pump("the window") { dialog.height > 100 }
            // Rows are taller in Debian 13's GTK.
            XCTAssertLessThan(
                dialog.height, gtk_get_minor_version() < 18 ? 420 : 480, "a header, the image and one row")
            dialog.close()
        }
    }

    func testAnImageIsPrintedOnOnePage() throws {
        try ViewerFixture.with { fixture in
            let wide = try picture(120, 40) { x, _ in x < 60 ? shade(1) : shade(40) }
            let file = fixture.folder.appendingPathComponent("page.pdf")
            try PhotoPrint(image: wide, title: "wide").export(to: file.path)
            let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
            XCTAssertTrue(text.hasPrefix("%PDF"))
            XCTAssertTrue(text.contains("/Width 120") && text.contains("/Height 40"), "all pixels are on it")
            // cairo 1.18 compresses the list of pages.
            let pages = text.contains("/ObjStm") ? try Self.inflated(file) : text
            XCTAssertTrue(pages.contains("/Count 1"), "one page")
            XCTAssertEqual(text.components(separatedBy: "/Width 120").count, 2, "the image is on it once")
            XCTAssertThrowsError(try PhotoPrint(image: wide, title: "wide").export(to: "/nowhere/page.pdf"))
        }
    }

    /// The object streams of a PDF (ISO 32000-1, 7.5.7), inflated.
    private nonisolated static func inflated(_ file: URL) throws -> String {
        let script = """
            import re, sys, zlib
            data = open(sys.argv[1], "rb").read()
            for start in re.finditer(rb"/ObjStm.*?stream\\r?\\n", data, re.DOTALL):
                sys.stdout.buffer.write(zlib.decompressobj().decompress(data[start.end():]))
            """
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = ["-c", script, file.path]
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return text
    }

    @MainActor private static var printDialog: ObjectPointer? {
        let windows = gtk_window_get_toplevels()
        let type = g_type_from_name("GtkPrintUnixDialog")
        for index in 0..<g_list_model_get_n_items(windows) where type != 0 {
            guard let item = g_list_model_get_item(windows, index) else { continue }
            defer { g_object_unref(item) }
            if ObjectPointer(item).isInstance(of: type) { return ObjectPointer(item) }
        }
        return nil
    }

    func testTheMainActorWorksWhileThePrintDialogIsOpen() throws {
        try ViewerFixture.with { fixture in
            fixture.open([try fixture.write(try picture(30, 20) { _, _ in shade(7) }, "a.png")])
            fixture.settle()
            // The others look for printers on the network.
            ObjectPointer(gtk_settings_get_default()).set("gtk-print-backends", "file")
            var hasWorked: Bool?
            var (isOpen, call) = (false, MainLoopCall?.none)
            // From the main loop: a dialog with a main loop of its own would keep this test from going on.
            @MainActor func look() {
                call = .after(milliseconds: 20) {
                    guard let dialog = Self.printDialog else { return look() }
                    isOpen = true
                    var isDone = false
                    Task { @MainActor in isDone = true }
                    call = .after(milliseconds: 200) {
                        hasWorked = isDone
                        gtk_window_close(dialog.as())
                    }
                }
            }
            look()
            fixture.run("print")
            pump("the dialog") { isOpen && hasWorked != nil }
            XCTAssertEqual(hasWorked, true)
            withExtendedLifetime(call) {}
        }
    }
}
