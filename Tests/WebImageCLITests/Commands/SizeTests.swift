import Foundation
import Testing
import WebImageTestSupport
import WebImage
import WebImageCore

/// The options for the part of an image and its size.
@Suite(.timeLimit(.minutes(3))) struct SizeTests {
    let tool: Tool

    init() throws { tool = try Tool() }

    /// Converts an image of 64 × 48.
    private func converted(_ arguments: String...) async throws -> Image {
        let input = try tool.write(TestImage().data(.png), to: "in.png")
        let run = try await tool.run(["convert", input, "out.png"] + arguments)
        #expect(run.status == 0, "\(run.errors)")
        return try CodecRegistry.shared.decode(tool.contents(of: "out.png"))
    }

    private func part(_ x: Int, _ y: Int, _ width: Int, _ height: Int) throws -> Image {
        try TestImage().image().processed(by: [.crop(toPixels: PixelRect(x: x, y: y, width: width, height: height))])
    }

    @Test func cutsOutARectangle() async throws {
        #expect(try await largestDifference(converted("--crop=20x10+5+7"), part(5, 7, 20, 10)) == 0)
        #expect(try await largestDifference(converted("--crop", "20x10+60+40"), part(60, 40, 4, 8)) == 0)
        #expect(try await largestDifference(converted("--crop", "20x10"), part(22, 19, 20, 10)) == 0)
    }

    @Test func cutsOutProportionsAtAPlace() async throws {
        #expect(try await largestDifference(converted("--crop", "16:9"), part(0, 6, 64, 36)) == 0)
        #expect(try await largestDifference(converted("--crop=1:1", "--gravity=west"), part(0, 0, 48, 48)) == 0)
        #expect(
            try await largestDifference(converted("--crop=10x8", "--gravity", "southeast"), part(54, 40, 10, 8)) == 0)
    }

    /// A side of such a part of the box would have more than 2⁶³ pixels.
    @Test func extremeProportionsKeepARowOrAColumn() async throws {
        let row = try await converted("--crop=99999999:.0000001", "--size=x65535")
        #expect(row.pixels.size == PixelSize(width: 64, height: 1))
        let column = try await converted("--crop=.0000001:99999999", "--size=65535x")
        #expect(column.pixels.size == PixelSize(width: 1, height: 48))
    }

    @Test func cutsFromTheOriginalAndThenScales() async throws {
        let image = try await converted("--size", "16", "--crop", "32x32+0+0")
        let expected = try await part(0, 0, 32, 32).processed(by: [.resize(to: .pixels(width: 16, height: 16))])
        #expect(largestDifference(image, expected) <= 1)
    }

    @Test func fillsTheBoxAtAPlace() async throws {
        let left = try await converted("--size=24x24", "--mode=fill", "--gravity=west")
        let right = try await converted("--size=24x24", "--mode=fill", "--gravity=east")
        #expect(left.pixels.size == PixelSize(width: 24, height: 24) && left.pixels.size == right.pixels.size)
        // The image becomes redder to the right.
        #expect(left.pixels[0, 0].x < 10 && right.pixels[23, 0].x > 240)
    }

    @Test func keepsAFocalPointInTheCenter() async throws {
        let left = try await converted("--size=24x24", "--mode=fill", "--gravity=west")
        #expect(try await largestDifference(converted("--size=24x24", "--mode=fill", "--focus", "-1,0"), left) == 0)
        // A focal point between the edges is in the center of the result.
        let part = try await converted("--crop=48x48", "--size=24x24", "--mode=fill", "--focus=0.5,0")
        #expect(part.pixels.size == PixelSize(width: 24, height: 24))
        let placed = try await converted("--size=12x24", "--mode=fill", "--focus=-0.25,0")
        #expect(placed.pixels.size == PixelSize(width: 12, height: 24))
        #expect((80...112).contains(placed.pixels[6, 0].x), "the point is at 3/8 of the width, and so of 255")
        let small = try await converted("--size=50x100", "--mode=fill", "--focus=1,0")
        #expect(small.pixels.size == PixelSize(width: 50, height: 48) && small.pixels[49, 0].x > 240)
    }

    @Test func enlargesOnlyIfAsked() async throws {
        #expect(try await converted("--size", "128").pixels.size == PixelSize(width: 64, height: 48))
        #expect(try await converted("--size", "128", "--enlarge").pixels.size == PixelSize(width: 128, height: 96))
        #expect(
            try await converted("--size", "100x100", "--mode=fill", "--enlarge").pixels.size
                == PixelSize(width: 100, height: 100))
        #expect(
            try await converted("--size", "50x100", "--mode=fill").pixels.size == PixelSize(width: 50, height: 48))
    }

    @Test func smartGravityKeepsTheFace() async throws {
        var wide = TestImage(width: 300, height: 100)
        wide.number = 1
        let gray = try await wide.image().processed(by: [.grayscale(), .color(contrast: 0)])
        let face = try await TestImage(width: 40, height: 40).image().processed(by: [
            .tint(Color(red: 0.88, green: 0.67, blue: 0.54), mode: .source)
        ])
        let scene = try await gray.processed(by: [.blend(face, id: "face", x: 240, y: 30)])
        let input = try tool.write(CodecRegistry.shared.encode(scene, as: .png), to: "scene.png")
        for (gravity, hasFace) in [("smart", true), ("center", false)] {
            let run = try await tool.run("convert", input, "out.png", "--crop", "1:1", "--gravity", gravity)
            #expect(run.status == 0, "\(run.errors)")
            let image = try CodecRegistry.shared.decode(tool.contents(of: "out.png"))
            #expect((image.pixelCount(redderBy: 60) == 1600) == hasFace, "\(gravity)")
        }
    }

    @Test func trimsABorderOfAllFrames() async throws {
        func frame(_ x: Double) throws -> Image {
            let white = try TestImage(width: 40, height: 30).image().processed(by: [.color(brightness: 1)])
            return try white.processed(by: [.blend(try part(0, 0, 4, 4), id: "\(x)", x: x, y: 10)])
        }
        let still = try tool.write(CodecRegistry.shared.encode(frame(10), as: .png), to: "still.png")
        #expect(try await tool.run("convert", still, "out.png", "--trim").status == 0)
        #expect(
            try CodecRegistry.shared.info(of: tool.contents(of: "out.png")).size == PixelSize(width: 4, height: 4))

        var animation = EncodableAnimation()
        for x in [10.0, 20] { animation.append(try frame(x), duration: .milliseconds(200)) }
        let moving = try tool.write(CodecRegistry.shared.encode(animation, as: .png), to: "moving.png")
        #expect(try await tool.run("convert", moving, "out.png", "--trim").status == 0)
        let info = try CodecRegistry.shared.info(of: tool.contents(of: "out.png"))
        #expect(info.size == PixelSize(width: 14, height: 4) && info.frameCount == 2)
    }

    @Test func framesAreCroppedAtOnePlace() async throws {
        var animation = EncodableAnimation()
        animation.append(try TestImage().image(), duration: .milliseconds(100))
        animation.append(try TestImage(number: 3).image(), duration: .milliseconds(100))
        let input = try tool.write(CodecRegistry.shared.encode(animation, as: .png), to: "in.png")
        #expect(try await tool.run("convert", input, "out.png", "--crop=1:1", "--gravity=smart").status == 0)
        let frames = try #require(CodecRegistry.shared.decode(tool.contents(of: "out.png")).animation)
        let reader = frames.makeFrameReader()
        let first = try reader.frame(at: 0, cancellation: nil)[0, 0]
        let second = try reader.frame(at: 1, cancellation: nil)[0, 0]
        #expect(first.x == second.x && first.y == second.y)
    }

    @Test func croppedImagesAreCachedByTheirPart() async throws {
        let address = "data:image/png;base64," + (try TestImage().data(.png).base64EncodedString())
        for (crop, width) in [("10x10", 10), ("20x10", 20), ("10x10", 10)] {
            let object = try await tool.run("get", "--json", address, "--crop", crop).object(LoadObject.self)
            #expect(object.width == width && object.height == 10)
        }
    }

    // MARK: The largest images

    @Test func refusesMorePixelsThanAllowed() async throws {
        let input = try tool.write(TestImage().data(.png), to: "in.png")
        for command in [["convert", input, "out.png"], ["get", input, "-o", "out.jpg"]] {
            let run = try await tool.run(command + ["--max-pixels", "3K"])
            #expect(run.status == 1)
            #expect(
                run.errors.hasSuffix(
                    "in.png: 64 × 48 is 3,072 pixels, more than the 3,000 allowed. For a file you trust: --max-pixels 3072.\n"
                ), "\(run.errors)")
            #expect(try await tool.run(command + ["--max-pixels", "3072"]).status == 0)
        }
    }

    /// As if it were cut out first and scaled then.
    @Test(arguments: [
        (300, 200, "16:9", ["--size=80"]), (300, 200, "1:1", ["--size=64"]), (97, 211, "3:2", ["--size=41"]),
        (600, 400, "3:2", ["--size=79"]), (300, 200, "2:3", ["--size=x50"]), (300, 200, "5:4", ["--size=90x"]),
        (300, 200, "16:9", ["--size=40x40", "--mode=fill"]), (300, 200, "1:2", ["--size=40x30", "--mode=fill"]),
        (300, 200, "1:3", ["--size=40x30", "--mode=stretch"]), (60, 40, "1:1", ["--size=80"]),
        (60, 40, "16:9", ["--size=80", "--enlarge"]), (300, 20, "4:3", ["--size=80"]),
    ])
    func partsWithProportionsHaveTheSameShapeWhenDecodedAtASize(
        width: Int, height: Int, crop: String, options: [String]
    ) async throws {
        let input = try tool.write(TestImage(width: width, height: height).data(.png), to: "in.png")
        let direct = try await tool.run(["convert", input, "direct.png", "--crop", crop] + options)
        #expect(direct.status == 0, "\(direct.errors)")
        #expect(try await tool.run("convert", input, "part.png", "--crop", crop).status == 0)
        #expect(try await tool.run(["convert", "part.png", "steps.png"] + options).status == 0)
        let image = try CodecRegistry.shared.decode(tool.contents(of: "direct.png"))
        let expected = try CodecRegistry.shared.decode(tool.contents(of: "steps.png"))
        #expect(image.pixels.size == expected.pixels.size)
        #expect(largestDifference(image, expected) <= 8)
    }

    /// 272 megapixels take more than 1 GiB. A PNG of that size takes 15 s in a debug build.
    @Test(arguments: ReleaseChecks.areRequested ? [ImageFormat.jpeg, .png] : [.jpeg])
    func aPartWithProportionsTakesLittleMemoryAtASize(format: ImageFormat) async throws {
        let input = try tool.write(
            format == .jpeg ? LargeJPEG.data(side: 16_500) : LargePNG.data(side: 16_500), to: "large")
        let run = try await tool.run("convert", input, "out.png", "--crop", "16:9", "--size", "160")
        #expect(run.status == 0, "\(run.errors)")
        #expect(
            try CodecRegistry.shared.info(of: tool.contents(of: "out.png")).size == PixelSize(width: 160, height: 90))
        for (options, advice) in [
            ([], "is allowed. Use --size to decode a smaller image; for a file you trust: --max-pixels 300M.\n"),
            (
                ["--crop=1:1"],
                "is allowed. Use --size to decode a smaller image; for a file you trust: --max-pixels 300M.\n"
            ),
            (["--size=160", "--crop=9x9+0+0"], "is allowed. For a file you trust: --max-pixels 300M.\n"),
            // These need all pixels at any size.
            (["--crop=9x9+0+0"], "is allowed. For a file you trust: --max-pixels 300M.\n"),
            (["--crop=9x9"], "is allowed. For a file you trust: --max-pixels 300M.\n"),
            (["--trim"], "is allowed. For a file you trust: --max-pixels 300M.\n"),
        ] {
            let refused = try await tool.run(["convert", input, "other.png"] + options)
            #expect(refused.status == 1 && refused.errors.hasSuffix(advice), "\(refused.errors)")
        }
    }

    /// 108 megapixels, over the limit for URLs.
    @Test func aFileGivenByHandIsLimitedByMemoryOnly() async throws {
        let input = try tool.write(LargeJPEG.data(side: 10_400), to: "large.jpg")
        let run = try await tool.run("convert", input, "out.png", "--size", "120")
        #expect(run.status == 0, "\(run.errors)")
        #expect(
            try CodecRegistry.shared.info(of: tool.contents(of: "out.png")).size == PixelSize(width: 120, height: 120))
        let refused = try await tool.run("get", "data:image/png;base64," + LargePNG.data().base64EncodedString())
        #expect(refused.status == 1)
        #expect(refused.errors.contains("10,400 × 10,400 is 108.2 million pixels"), "\(refused.errors)")
        #expect(refused.errors.contains("--max-pixels 150M"))
    }
}

extension Image {
    /// The number of pixels whose red exceeds blue by more than `difference`.
    fileprivate func pixelCount(redderBy difference: Int) -> Int {
        (0..<height).reduce(0) { count, y in
            count + (0..<width).count { Int(pixels[$0, y].x) - Int(pixels[$0, y].z) > difference }
        }
    }
}
