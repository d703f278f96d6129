import Foundation
import ProgramSupport
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK

/// Which folders are followed, and where their images are among others.
final class GalleryFollowingTests: GTKTestCase {
    func testAFolderWithoutImagesIsFollowed() throws {
        try WindowFixture.with(["a.png"]) { fixture in
            fixture.open()
            let follower = fixture.window.photos.opener.follower
            let folder = fixture.folder.appending(path: "new/inside")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            pump("the empty folders") {
                follower.watchedFolders.contains(SystemString(folder.path + "/")) && !follower.isBusy
            }
            try fixture.write("new/inside/b.png", red: 3)
            pump("the file") { fixture.names == ["a.png", "b.png"] }
        }
    }

    func testAFolderInAFolderWithoutImagesIsFollowed() throws {
        try WindowFixture.with(["2024/05/a.png"]) { fixture in
            fixture.open()
            try fixture.write("2024/06/b.png", red: 3)
            pump("the folder") { fixture.names == ["a.png", "b.png"] }
            try FileManager.default.removeItem(at: fixture.folder.appending(path: "2024/05"))
            pump("the removal") { fixture.names == ["b.png"] }
        }
    }

    func testAFolderIsFollowedAfterAFileWasDropped() throws {
        try WindowFixture.with(["a.png"]) { fixture in
            let elsewhere = try TemporaryFolder()
            let dropped = try elsewhere.writeImage("x.png")
            try elsewhere.writeImage("y.png")
            fixture.open()
            fixture.window.open([dropped.path], replacing: false)
            pump("the dropped file") { fixture.names == ["a.png", "x.png"] && !fixture.window.photos.isReading }
            try fixture.write("b.png", red: 3)
            pump("the new file before it") { fixture.names == ["a.png", "b.png", "x.png"] }
            try FileManager.default.removeItem(at: dropped)
            pump("the removal") { fixture.names == ["a.png", "b.png"] }
        }
    }

    func testAFileWithAnotherEndingStaysWhenItsFolderChanges() throws {
        try WindowFixture.with(["a.png", "x.png"]) { fixture in
            let file = fixture.folder.appending(path: "x.download")
            try FileManager.default.moveItem(at: fixture.urls[1], to: file)
            fixture.open()
            fixture.window.open([file.path], replacing: false)
            pump("the file") { fixture.names == ["a.png", "x.download"] && !fixture.window.photos.isReading }
            try fixture.write("b.png", red: 3)
            pump("the new file before it") { fixture.names == ["a.png", "b.png", "x.download"] }
            try FileManager.default.removeItem(at: file)
            pump("the removal") { fixture.names == ["a.png", "b.png"] }
        }
    }

    func testSeveralFoldersAreFollowed() throws {
        try WindowFixture.with(["two/a.png", "one/b.png"]) { fixture in
            fixture.window.open(["two", "one"].map { fixture.folder.path + "/" + $0 })
            pump("the images") { fixture.names == ["a.png", "b.png"] && !fixture.window.photos.isReading }
            try fixture.write("two/c.png", red: 3)
            pump("the first folder") { fixture.names == ["a.png", "c.png", "b.png"] }
            try fixture.write("one/d.png", red: 4)
            pump("the second folder") { fixture.names == ["a.png", "c.png", "b.png", "d.png"] }
            fixture.window.open([fixture.folder.path + "/one"], replacing: false)
            pump("the reading") { !fixture.window.photos.isReading }
            XCTAssertEqual(fixture.names, ["a.png", "c.png", "b.png", "d.png"], "no image is there twice")
        }
    }

    func testFilesThatWereOpenedAreFollowedWithoutTheirFolder() throws {
        try WindowFixture.with(["a.png", "b.png", "c.png"]) { fixture in
            fixture.window.open([fixture.urls[2].path, fixture.urls[0].path])
            pump("the images") { fixture.names == ["c.png", "a.png"] && !fixture.window.photos.isReading }
            try FileManager.default.removeItem(at: fixture.urls[2])
            pump("the removal") { fixture.names == ["a.png"] }
        }
    }

    func testAFolderWithARelativePathIsFollowed() throws {
        try WindowFixture.with(["a.png", "b.png"]) { fixture in
            let depth = FileManager.default.currentDirectoryPath.split(separator: "/").count
            let path = String(repeating: "../", count: depth) + fixture.folder.path.dropFirst()
            fixture.window.open([path + "/"])
            let grid = fixture.window.photos.grid
            pump("the images") { fixture.names == ["a.png", "b.png"] && fixture.window.isSettled }
            try fixture.write("a.png", red: 200)
            pump("the new content") { grid.cell(of: fixture.urls[0])?.picture.image?.pixels[0, 0].x == 200 }
        }
    }

    func testTheContentOfAFileIsFollowedWhateverItsPathIs() throws {
        try WindowFixture.with(["a.png", "in/b.png"]) { fixture in
            let path = fixture.folder.path + "/in/.././a.png"
            let list = fixture.folder.appending(path: "list.txt")
            for location in [path, "file://" + path, list.path] {
                for line in location == list.path ? [path, "file://" + path] : [""] {
                    try Data(line.utf8).write(to: list)
                    fixture.window.open([location], viewsImage: false)
                    pump("the image") { !fixture.window.photos.isReading && fixture.window.isSettled }
                    XCTAssertEqual(fixture.session.collection.urls, [fixture.urls[0]], location)
                }
            }
            try fixture.write("a.png", red: 200)
            let grid = fixture.window.photos.grid
            pump("the new content") { grid.cell(of: fixture.urls[0])?.picture.image?.pixels[0, 0].x == 200 }
        }
    }

    func testOtherImagesEndTheFollowing() throws {
        try WindowFixture.with(["one/a.png", "two/b.png"]) { fixture in
            fixture.open("one")
            fixture.open("two")
            let folder = SystemString(fixture.folder.path + "/two/")
            XCTAssertEqual(fixture.window.photos.opener.follower.watchedFolders, [folder])
            fixture.window.photos.closeAll()
            XCTAssertEqual(fixture.window.photos.opener.follower.watchedFolders, [])
        }
    }

    func testAFolderThatIsNoLongerWantedIsNotWatched() throws {
        try MainActor.assumeIsolated {
            let folder = try TemporaryFolder()
            let files = try ["a/1", "b/2"].map { try folder.write($0, Data()) }
            var changed: Set<SystemString> = []
            let watch = FolderWatch { changed.formUnion($0) }
            XCTAssertTrue(watch.watch(Set(files.map(\.folder))))
            XCTAssertFalse(watch.watch([files[0].folder]))
            XCTAssertEqual(watch.folders, [files[0].folder])
            // Both are reported together, if they are.
            for file in files.reversed() { try Data("new".utf8).write(to: file) }
            pump("the change") { !changed.isEmpty }
            XCTAssertEqual(changed, [files[0].filePath])
        }
    }

    func testTheStatusSaysThatThereAreTooManyFolders() throws {
        try WindowFixture.with(["a.png"]) { fixture in
            for number in 0..<FolderWatch.folderLimit + 3 {
                mkdir(fixture.folder.path + "/\(number)", 0o755)
            }
            fixture.open()
            XCTAssertEqual(fixture.window.photos.statusText, "1 image, 4 folders are not watched for changes")
            for number in 0..<3 { rmdir(fixture.folder.path + "/\(number)") }
            pump("all but one") { fixture.window.photos.statusText == "1 image, 1 folder is not watched for changes" }
            rmdir(fixture.folder.path + "/3")
            pump("all folders") { fixture.window.photos.statusText == "1 image" }
        }
    }
}
