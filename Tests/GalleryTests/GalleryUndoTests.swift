import CWebImageGTK
import Foundation
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK

/// What is taken back by a key.
final class GalleryUndoTests: GTKTestCase {
    func testTheLastRemovalsComeBackOneAfterTheOther() throws {
        try WindowFixture.with(["a.png", "b.png", "c.png"]) { fixture in
            fixture.open()
            for names in [["b.png", "c.png"], ["c.png"]] {
                fixture.window.photos.grid.setCurrent(0, focusing: false)
                fixture.run("trash")
                pump("the trash") { fixture.names == names }
            }
            fixture.run("undo")
            pump("the last file") { fixture.names == ["b.png", "c.png"] }
            fixture.run("undo")
            pump("the first file") { fixture.names == ["a.png", "b.png", "c.png"] }
            XCTAssertTrue(FileManager.default.fileExists(atPath: fixture.urls[0].path))
            // What the key has taken back, the button does not.
            for toast in fixture.toasts { toast.button?.action() }
            fixture.run("undo")
            pump("the message") { fixture.toasts.last?.message == "There is nothing to undo" }
        }
    }

    func testAFileOfAFolderThatIsNoLongerOpenComesBack() throws {
        try WindowFixture.with(["one/a.png", "two/b.png"]) { fixture in
            fixture.open("one")
            fixture.window.photos.grid.setCurrent(0, focusing: false)
            fixture.run("trash")
            pump("the trash") { fixture.names.isEmpty }
            fixture.open("two")
            fixture.run("undo")
            pump("the message") { fixture.toasts.last?.message == "a.png is back from the trash" }
            XCTAssertTrue(FileManager.default.fileExists(atPath: fixture.urls[0].path))
            XCTAssertEqual(fixture.names, ["b.png"])
        }
    }

    func testRotationsAndRemovalsOfAFileAreTakenBackInTurn() throws {
        try WindowFixture.with(["b.png"]) { fixture in
            let file = fixture.folder.appending(path: "a.png")
            try CodecRegistry.shared.encode(try picture(30, 20) { x, _ in shade(x) }, as: .png).write(to: file)
            var contents = [try Data(contentsOf: file)]
            fixture.open()
            fixture.window.photos.grid.setCurrent(0, focusing: false)
            for count in 1...2 {
                fixture.run("rotate-right")
                pump("the rotation") { fixture.toasts.count == count }
                contents.append(try Data(contentsOf: file))
            }
            fixture.run("trash")
            pump("the trash") { fixture.names == ["b.png"] }
            fixture.run("undo")
            pump("the file") { fixture.names == ["a.png", "b.png"] }
            for content in contents.dropLast().reversed() {
                fixture.run("undo")
                pump("the former content") { (try? Data(contentsOf: file)) == content }
                pump("the end of the change") { !fixture.session.fileChanges.contains(file) }
            }
            XCTAssertEqual(fixture.toasts.count, 3, "none was refused")
        }
    }

    func testCommandsThatFollowQuicklyAreTakenBackInTurn() throws {
        try WindowFixture.with(["a.png", "b.png"]) { fixture in
            let (file, former) = (fixture.urls[0], try Data(contentsOf: fixture.urls[0]))
            fixture.open()
            fixture.window.photos.grid.setCurrent(0, focusing: false)
            let threads = HeldQueue(.files)
            for command in ["rotate-right", "trash", "undo", "undo"] { fixture.run(command) }
            threads.release()
            pump("both messages") { fixture.toasts.count == 2 }
            XCTAssertEqual(fixture.toasts.map(\.message), ["a.png is rotated", "a.png is in the trash"])
            pump("the former content") { (try? Data(contentsOf: file)) == former }
            pump("the end of the changes") { !fixture.session.fileChanges.contains(file) }
            XCTAssertEqual(fixture.names, ["a.png", "b.png"])
            XCTAssertEqual(fixture.toasts.count, 2, "none was refused")
        }
    }

    func testARotationIsTakenBackFromAFileWithAnotherName() throws {
        try WindowFixture.with(["a.png", "z.png"]) { fixture in
            var contents = [try Data(contentsOf: fixture.urls[0])]
            fixture.open()
            fixture.window.photos.grid.setCurrent(0, focusing: false)
            for (count, name) in ["b.png", "c.png"].enumerated() {
                fixture.run("rotate-right")
                pump("the rotation") { fixture.toasts.count == count + 1 }
                let file = fixture.session.collection.urls[0]
                contents.append(try Data(contentsOf: file))
                fixture.session.rename(file, to: name)
                pump("the name") { fixture.names == [name, "z.png"] }
            }
            // Not even by way of the trash.
            fixture.run("trash")
            pump("the trash") { fixture.names == ["z.png"] }
            fixture.run("undo")
            pump("the file") { fixture.names == ["c.png", "z.png"] }
            for content in contents.dropLast().reversed() {
                fixture.run("undo")
                pump("the former content") { (try? Data(contentsOf: fixture.session.collection.urls[0])) == content }
            }
            XCTAssertEqual(fixture.toasts.count, 3, "none was refused")
        }
    }

    func testWhatCannotBeTakenBackCanBeTriedAgainOrForgotten() throws {
        try WindowFixture.with(["a.png", "b.png", "c.png"]) { fixture in
            fixture.open()
            fixture.window.photos.grid.setCurrent(2, focusing: false)
            fixture.run("trash")
            pump("the first removal") { fixture.names == ["a.png", "b.png"] }
            fixture.window.photos.grid.selectAll()
            fixture.run("trash")
            pump("the trash") { fixture.names.isEmpty }
            let other = try fixture.write("a.png", red: 77)
            let reason = "a.png: File exists. Ctrl+Z tries again."
            fixture.run("undo")
            pump("the reason") { fixture.toasts.last?.message == reason }
            XCTAssertTrue(FileManager.default.fileExists(atPath: fixture.urls[1].path), "the others come back")
            try FileManager.default.removeItem(at: other)
            fixture.run("undo")
            pump("the file") { FileManager.default.fileExists(atPath: other.path) }
            let former = fixture.toasts.count
            try fixture.write("c.png", red: 78)
            fixture.run("undo")
            pump("the next step's reason") { fixture.toasts.count == former + 1 }
            XCTAssertEqual(fixture.toasts.last?.message, "c.png: File exists. Ctrl+Z tries again.")
            fixture.toasts.last?.button?.action()
            fixture.run("undo")
            pump("no step") { fixture.toasts.last?.message == "There is nothing to undo" }
        }
    }

    func testAMessageGoesWithWhatItsButtonTakesBack() throws {
        try WindowFixture.withImages { fixture in
            let history = UndoHistory(fixture.session.fileChanges)
            var count = 0
            let step = history.add {
                count += 1
                return nil
            }
            fixture.window.showToast("Done", .init(title: "_Undo", step: step) { history.undo(step) })
            @MainActor func isShown(_ widget: UnsafeMutablePointer<GtkWidget>) -> Bool {
                if String(cString: gtk_widget_get_css_name(widget)) == "toast" { return true }
                var child = gtk_widget_get_first_child(widget)
                while let current = child {
                    if isShown(current) { return true }
                    child = gtk_widget_get_next_sibling(current)
                }
                return false
            }
            pump("the message") { isShown(fixture.window.widget.widget) }
            XCTAssertTrue(history.undoLast())
            // By itself, it goes after 5 s.
            pump("no message", seconds: 4) { !isShown(fixture.window.widget.widget) }
            XCTAssertFalse(history.undoLast())
            XCTAssertEqual(count, 1)
        }
    }

    func testAStepInProgressIsNotTakenBackAgain() throws {
        MainActor.assumeIsolated {
            let (changes, file) = (FileChangeQueue(), URL(filePath: "/a.png"))
            let history = UndoHistory(changes)
            var (count, isDone) = (0, false)
            let step = history.add(of: [file]) {
                count += 1
                return nil
            }
            for _ in 0..<2 { history.undo(step) }
            changes.run([file]) { isDone = true }
            pump("the changes") { isDone }
            XCTAssertEqual(count, 1)
        }
    }

    func testOldStepsGo() throws {
        MainActor.assumeIsolated {
            let history = UndoHistory(FileChangeQueue())
            var (ended, undone): ([Int], [Int]) = ([], [])
            for number in 0..<UndoHistory.stepLimit + 2 {
                let step = history.add {
                    undone.append(number)
                    return nil
                }
                step.onEnd = { ended.append(number) }
            }
            XCTAssertEqual(ended, [0, 1])
            // The last one stays, however long it is.
            _ = history.add(byteCount: UndoHistory.byteLimit + 1) {
                undone.append(-1)
                return nil
            }
            XCTAssertEqual(ended.count, UndoHistory.stepLimit + 2)
            XCTAssertTrue(history.undoLast())
            XCTAssertFalse(history.undoLast())
            pump("the last one") { undone == [-1] }
        }
    }

    func testTheViewerShowsThePhotographThatIsBack() throws {
        try WindowFixture.with(["a.png", "b.png", "c.png"]) { fixture in
            fixture.open()
            fixture.window.view(1, isAnimated: false)
            pump("the viewer") { fixture.window.isSettled }
            fixture.run("viewer-trash")
            pump("the trash") { fixture.names == ["a.png", "c.png"] }
            XCTAssertEqual(fixture.window.shownViewer?.currentURL?.lastPathComponent, "c.png")
            fixture.run("undo")
            pump("the file") { fixture.names == ["a.png", "b.png", "c.png"] }
            XCTAssertEqual(fixture.window.shownViewer?.currentURL?.lastPathComponent, "b.png")
        }
    }
}
