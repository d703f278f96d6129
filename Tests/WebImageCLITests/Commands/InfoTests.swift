import Foundation
import Testing
import WebImage
import WebImageTestSupport

@Suite(.timeLimit(.minutes(3))) struct InfoTests {
    let tool: Tool

    init() throws { tool = try Tool() }

    @Test func describesAStill() async throws {
        let data = try TestImage(isOpaque: false).data(.png)
        let path = try tool.write(data, to: "a.png")
        let object = try await tool.run("info", "--json", path).object(InfoObject.self)
        #expect(
            object
                == InfoObject(
                    url: path, format: "png", width: 64, height: 48, frames: 1, durations: [], alpha: true,
                    orientation: 1, colorProfile: false, bytes: data.count))
    }

    @Test func describesAnAnimation() async throws {
        let path = try tool.write(TestImage.animation, to: "a.gif")
        let run = try await tool.run("info", "--json", path)
        let object = try run.object(InfoObject.self)
        #expect([object.width, object.height, object.frames, object.loopCount] == [1, 1, 2, 0])
        #expect(object.durations == [100, 100])
        #expect(
            try await tool.run("info", path).output
                == "\(path): gif, 1×1, 2 frames of 0.1 s, 0.2 s in total, plays forever, 85 B\n")
    }

    @Test func showsTheShortestAndTheLongestFrameDuration() async throws {
        // Its second graphic control extension; hundredths of a second.
        var data = TestImage.animation
        let control = Data([0x21, 0xF9, 0x04])
        let last = try #require(data.range(of: control, options: .backwards)).upperBound
        data[last + 1] = 45
        let path = try tool.write(data, to: "a.gif")
        let object = try await tool.run("info", "--json", path).object(InfoObject.self)
        #expect(object.durations?.last == 450)
        let text = try await tool.run("info", path).output
        #expect(text.contains("2 frames of 0.1 s to 0.45 s, 0.55 s in total"))
    }

    @Test func showsTheOrientation() async throws {
        let path = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Fixtures/images/orientation-6.jpg").path
        let object = try await tool.run("info", "--json", path).object(InfoObject.self)
        let text = try await tool.run("info", path).output
        #expect(object.orientation == 6)
        // Upright: as it is shown.
        let info = try CodecRegistry.shared.info(of: Data(contentsOf: URL(filePath: path)))
        #expect([object.width, object.height] == [info.size.width, info.size.height])
        #expect(text.contains("jpeg, \(info.size.width)×\(info.size.height), orientation 6, "))
    }

    @Test func showsAlpha() async throws {
        let path = try tool.write(TestImage(isOpaque: false).data(.png), to: "a.png")
        #expect(try await tool.run("info", path).output.hasPrefix("\(path): png, 64×48, alpha, "))
    }

    @Test func showsTheNamesOfColorProfiles() async throws {
        let path = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Fixtures/color/p3.jpg").path
        let run = try await tool.run("info", "--json", path)
        #expect(try run.object(InfoObject.self).colorProfileName == "test")
        #expect(try await tool.run("info", path).output == "\(path): jpeg, 31×23, color profile test, 1.6 KiB\n")
    }

    @Test func describesWithoutDecoding() async throws {
        let path = try tool.write(TestImage.claimingTooMuch(), to: "claim.jpg")
        let object = try await tool.run("info", "--json", path).object(InfoObject.self)
        #expect([object.width, object.height] == [65_535, 65_535])
        #expect(object.error == nil)
    }

    @Test func loadsAndCachesAURL() async throws {
        let root = try TemporaryDirectory()
        let server = try NGINXServer(root: root.path)
        let data = try TestImage().data(.jpeg)
        try root.write(data, to: "a.jpg")
        let address = try server.url("/a.jpg").absoluteString
        for _ in 0..<2 {
            let object = try await tool.run("info", "--json", address, address).objects(InfoObject.self)
            #expect(object.map(\.format) == ["jpeg", "jpeg"])
            #expect(object.map(\.bytes) == [data.count, data.count])
        }
        #expect(try await server.accessLog().count == 1)
    }

    @Test func reportsInvalidInputsAndContinues() async throws {
        let text = try tool.write(Data("hello".utf8), to: "a.txt")
        let imagePath = try tool.write(TestImage().data(.png), to: "a.png")
        let run = try await tool.run("info", "--json", text, tool.path("missing"), imagePath)
        #expect(run.status == 1)
        let objects = try run.objects(InfoObject.self)
        #expect(objects.map { $0.error?.code } == [300, 207, nil])
        #expect(objects.map(\.url) == [text, tool.path("missing"), imagePath])
        #expect(run.errors.split(separator: "\n").count == 2)
    }

    @Test func tellsWhatTheCameraNoted() async throws {
        // Little-endian: the camera, "Rig", an exposure of 1/125 s, f/2.8, ISO 200.
        func entry(_ tag: UInt16, _ type: UInt16, _ count: UInt32, _ value: UInt32) -> [UInt8] {
            [tag, type].flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
                + [count, value].flatMap { number in (0..<4).map { UInt8(number >> ($0 * 8) & 0xFF) } }
        }
        func number(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(value >> ($0 * 8) & 0xFF) } }
        var exif: [UInt8] = [0x49, 0x49, 0x2A, 0, 8, 0, 0, 0, 2, 0]
        exif += entry(0x110, 2, 4, 0x00_67_69_52) + entry(0x8769, 4, 1, 38) + number(0)
        exif += [3, 0] + entry(0x829A, 5, 1, 80) + entry(0x829D, 5, 1, 88) + entry(0x8827, 3, 1, 200) + number(0)
        exif += [1, 125, 28, 10].flatMap(number)
        var options = EncodingOptions()
        options.metadata = ImageMetadata(exif: Data(exif))
        let path = try tool.write(
            CodecRegistry.shared.encode(TestImage().image(), as: .jpeg, options: options), to: "a.jpg")
        struct Object: Decodable {
            struct EXIF: Decodable {
                var camera, date, zone: String?
                var exposureTime, aperture, latitude, altitude: Double?
                var iso: Int?
            }
            var exif: EXIF?
        }
        let found = try #require(try await tool.run("info", "--json", path).object(Object.self).exif)
        #expect(found.camera == "Rig" && found.exposureTime == 0.008 && found.aperture == 2.8 && found.iso == 200)
        #expect(found.latitude == nil && found.altitude == nil && found.date == nil)
        _ = try tool.write(TestImage().data(.png), to: "b.png")
        #expect(try await tool.run("info", "--json", "b.png").object(Object.self).exif == nil)

        // The date, and its zone of -3:30.
        var dated: [UInt8] = [0x49, 0x49, 0x2A, 0, 8, 0, 0, 0, 1, 0] + entry(0x8769, 4, 1, 26) + number(0)
        dated += [2, 0] + entry(0x9003, 2, 20, 56) + entry(0x9011, 2, 7, 76) + number(0)
        dated += Array("2024:05:01 12:00:00\0-03:30\0".utf8)
        options.metadata = ImageMetadata(exif: Data(dated))
        _ = try tool.write(
            CodecRegistry.shared.encode(TestImage().image(), as: .jpeg, options: options), to: "c.jpg")
        let date = try #require(try await tool.run("info", "--json", "c.jpg").object(Object.self).exif)
        #expect(date.date == "2024:05:01 12:00:00" && date.zone == "-03:30")
    }
}
