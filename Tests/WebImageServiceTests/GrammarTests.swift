import Testing
import WebImageCore

@testable import WebImageService

@Suite(.timeLimit(.minutes(1)))
struct GrammarTests {
    private func recipe(_ options: String, presets: [String: String] = [:]) throws -> Recipe {
        var reader = OptionReader(presets: Presets(presets, isOnlySource: false))
        let parts = options.split(separator: "/")
        #expect(try reader.readOptions(parts + ["plain"]) == parts.count)
        return reader.recipe
    }

    @Test func everyOptionHasAnEffect() throws {
        let cases: [(String, (inout Recipe) -> Void)] = [
            (
                "rs:fill:300:200:1:1:no",
                {
                    ($0.resizing, $0.width, $0.height, $0.enlarges) = (.fill, 300, 200, true)
                    $0.extension = .init(placement: Placement(anchor: .side(x: 0.5, y: 0)))
                }
            ),
            ("resize:fill-down", { $0.resizing = .fillDown }),
            ("s:30:20", { ($0.width, $0.height) = (30, 20) }), ("size::20", { $0.height = 20 }),
            ("s:30:::1", { ($0.width, $0.extension) = (30, .init()) }),
            ("rt:force", { $0.resizing = .force }), ("resizing_type:auto", { $0.resizing = .auto }),
            ("w:7", { $0.width = 7 }), ("height:8", { $0.height = 8 }),
            ("mw:7", { $0.minWidth = 7 }), ("min-height:8", { $0.minHeight = 8 }),
            ("z:1.5", { ($0.zoomX, $0.zoomY) = (1.5, 1.5) }), ("zoom:2:3", { ($0.zoomX, $0.zoomY) = (2, 3) }),
            ("z::3", { ($0.zoomX, $0.zoomY) = (1, 3) }),
            ("dpr:2", { $0.density = 2 }), ("el:t", { $0.enlarges = true }),
            (
                "ex:1:soea:1:2",
                {
                    $0.extension = .init(placement: Placement(anchor: .side(x: 1, y: 1), offsetX: 1, offsetY: 2))
                }
            ),
            ("exar:1", { $0.ratioExtension = .init() }),
            ("g:sm", { $0.placement = Placement(anchor: .smart) }),
            ("g:fp:0.25:1", { $0.placement = Placement(anchor: .focus(x: 0.25, y: 1)) }),
            ("gravity:nowe:5:-0.5", { $0.placement = Placement(anchor: .side(x: 0, y: 0), offsetX: 5, offsetY: -0.5) }),
            ("c:100:0.5:ce", { $0.crop = .init(width: 100, height: 0.5, placement: .center) }),
            ("crop:10", { $0.crop = .init(width: 10, height: 0) }),
            (
                "t:12.5:ff0000:1:0",
                {
                    $0.trim = .init(tolerance: 12, color: Color(red: 1, green: 0, blue: 0))
                    $0.trim?.symmetry.horizontal = true
                }
            ),
            ("pd:1:2", { $0.padding = .init(top: 1, right: 2, bottom: 1, left: 2) }),
            ("padding:1:2:3:4", { $0.padding = .init(top: 1, right: 2, bottom: 3, left: 4) }),
            ("ar:0", { $0.isUpright = false }), ("rot:270", { $0.rotation = 3 }), ("rotate:-90", { $0.rotation = 3 }),
            ("fl:1", { $0.flip = .init(horizontal: true, vertical: false) }),
            ("bg:255:0:0", { $0.background = Color(red: 1, green: 0, blue: 0) }),
            ("background:f00", { $0.background = Color(red: 1, green: 0, blue: 0) }),
            ("bl:1.5", { $0.blur = 1.5 }), ("sh:0.7", { $0.sharpening = 0.7 }), ("pix:8", { $0.pixelSize = 8 }),
            (
                "wm:0.5:soea:10:20:0.1",
                {
                    $0.watermark = .init(
                        opacity: 0.5, placement: Placement(anchor: .side(x: 1, y: 1), offsetX: 10, offsetY: 20),
                        scale: 0.1)
                }
            ),
            (
                "watermark:1:re",
                {
                    $0.watermark = .init(opacity: 1)
                    $0.watermark?.isRepeated = true
                }
            ),
            ("eth:1", { $0.usesEmbeddedThumbnail = true }),
            ("q:33", { $0.quality = 33 }), ("fq:webp:50:avif:20", { $0.formatQualities = ["webp": 50, "avif": 20] }),
            ("mb:4096", { $0.byteLimit = 4096 }), ("f:webp", { $0.output = .format(.webp) }),
            ("ext:best", { $0.output = .best }), ("skp:gif:svg", { $0.skippedFormats = ["gif", "svg"] }),
            ("raw:1", { $0.isRaw = true }), ("sm:0", { $0.stripsMetadata = false }),
            ("kcr:1", { $0.keepsCopyright = true }), ("scp:0", { $0.stripsProfile = false }),
            ("gain_map:0", { $0.keepsGainMap = false }),
            ("cb:abc", { $0.cacheBuster = "abc" }),
        ]
        for (text, change) in cases {
            var expected = Recipe()
            change(&expected)
            #expect(try recipe(text) == expected, "\(text)")
            #expect(try recipe(text) != Recipe(), "\(text)")
            #expect(try recipe(text).key != Recipe().key, "\(text)")
        }
        let tested = Set(cases.map { String($0.0.prefix { $0 != ":" }) })
        let names = Set(OptionReader.options.keys)
        #expect(tested.isSubset(of: names))
    }

    @Test(arguments: [
        "w:-1", "w:65536", "w:99999999999999999999", "w:1e9", "w:0x10", "w:nan", "w:1:2", "rs:cover:1:1",
        "rs:fit:1:1:2",
        "dpr:0", "dpr:inf", "dpr:0x1", "dpr:1e0", "dpr:+1", "dpr: 1", "bl:0x10", "bl:nan", "bl:-nan", "bl:infinity",
        "z:0x1p0", "c:0x10:10",
        "w:inf", "w: 1", "h:0x10", "z:-1", "g:xx", "g:fp:2:0", "g:fp:1", "g:sm:1:1", "c:-1:1", "t:-1", "t:256",
        "t:1:zzz",
        "t::ff00ff", "t:::1", "aq::2",
        "pd:-1", "rot:45", "bg:256:0:0", "bg:12", "bg:ff00ff00", "bg:1:2", "bl:-1", "sh:1000", "pix:99999", "wm:2",
        "wm:1:xx",
        "q:101", "fq:webp", "fq:xyz:1", "mb:-1", "f:exe", "f:svg", "skp:xyz", "ph:1", "preserve_hdr:true", "ph:x",
        "exp:abc", "fn:%zz", "ar:2", "el:yes",
        "nope:1", "obj:face", "style:1", "ex:1:sm", "unsharp:1", "enc:1", "🙂:1", "w:１０",
    ])
    func whatCannotBeDoneIsRefused(option: String) {
        #expect(throws: Refusal.self) { try recipe(option) }
        let status = #expect(throws: Refusal.self) { try recipe(option) }?.status
        #expect(status == 400)
    }

    /// As of a control group.
    @Test func limitsFollowTheMemory() {
        let limits = ImageService.Limits(memoryByteCount: 200 << 20)
        #expect(limits.decoding.memoryByteCount == 40 << 20 && limits.workCount <= 3)
        #expect(
            [limits.sourceByteCount, limits.uploadByteCount, limits.sendingByteCount, limits.resultByteCount]
                == [Int](repeating: 25 << 20, count: 4))
        #expect(limits.resultPixelCount * 4 <= 25 << 20)
        let usual = ImageService.Limits(memoryByteCount: 64 << 30)
        #expect(usual.decoding.memoryByteCount == 256 << 20 && usual.resultPixelCount == 40_000_000)
        #expect(
            [usual.sourceByteCount, usual.uploadByteCount, usual.sendingByteCount, usual.resultByteCount]
                == [50 << 20, 256 << 20, 256 << 20, 64 << 20])
        #expect(ImageService.Limits(memoryByteCount: 2 << 30).decoding == usual.decoding)
        #expect(ImageService.Limits(memoryByteCount: 0).workCount == 1)
    }

    /// Where the service allows it, a path may lower its limits.
    @Test func limitsAreOptionsIfAllowed() throws {
        var configuration = ImageService.Configuration()
        configuration.allowsLimitOptions = true
        var reader = OptionReader(presets: Presets([:], isOnlySource: false), configuration)
        for option in ["msr:1.5", "msfs:1000", "maf:3", "mafr:0.5", "mrd:20"] { try reader.read(option[...]) }
        let limits = ImageService.Limits().lowered(to: reader.recipe.limits)
        #expect(limits.decoding.pixelCount == 1_500_000 && limits.sourceByteCount == 1000 && limits.frameCount == 3)
        #expect(reader.recipe.limits.framePixelCount == 500_000 && limits.resultSide == 20)
        for option in ["msr:0", "msfs:0", "maf:0", "mafr:0", "mrd:0"] { try reader.read(option[...]) }
        #expect(reader.recipe == Recipe())
        // None raises one.
        for option in ["msr:9000", "msfs:1000000000", "maf:100000", "mrd:60000"] { try reader.read(option[...]) }
        let raised = ImageService.Limits().lowered(to: reader.recipe.limits)
        #expect(raised == ImageService.Limits())
        for option in ["msr:1", "max_src_file_size:1", "maf:1", "mafr:1", "mrd:1"] {
            #expect(throws: Refusal(403, "Paths may not change limits.")) { try self.recipe(option) }
        }
    }

    @Test func argumentsHaveAnySeparator() throws {
        var configuration = ImageService.Configuration()
        configuration.argumentSeparator = "--"
        let presets = Presets(["small": "rs--fill--20--10"], isOnlySource: false)
        var reader = OptionReader(presets: presets, configuration)
        #expect(try reader.readOptions(["pr--small", "q--50", "a:b", "c"]) == 2)
        #expect(reader.recipe.width == 20 && reader.recipe.quality == 50)
    }

    @Test func laterOptionsReplaceEarlierOnes() throws {
        let recipe = try recipe("w:10/h:5/w:20/w:/wm:1/wm:0")
        #expect(recipe.width == 20 && recipe.height == 5 && recipe.watermark == nil)
    }

    @Test func theMethodOfABoundNeedNotBeNamed() throws {
        #expect(try recipe("aq::0.01:40").qualityBound == recipe("aq:dssim:0.01:40").qualityBound)
        #expect(try recipe("aq::0.01").qualityBound?.dissimilarity == 0.01)
        #expect(try recipe("aq:dssim:0.01/aq::::80").qualityBound == recipe("aq:dssim:0.01::80").qualityBound)
        // Empty arguments leave values as they are.
        #expect(try recipe("aq:").qualityBound == nil)
        #expect(try recipe("aq:dssim:0.01/aq:/t:").qualityBound?.dissimilarity == 0.01)
    }

    @Test func presetsAreListsOfOptions() throws {
        let presets = ["small": "w:10/h:10", "sharp": "pr:small/sh:1", "loop": "pr:pool", "pool": "pr:loop"]
        let recipe = try recipe("pr:sharp/h:20", presets: presets)
        #expect(recipe.width == 10 && recipe.height == 20 && recipe.sharpening == 1)
        #expect(throws: Refusal.self) { try self.recipe("pr:loop", presets: presets) }
        #expect(throws: Refusal.self) { try self.recipe("pr:other", presets: presets) }
        #expect(throws: WebImageError.self) { try ServiceFixture { $0.presets = ["a": "w:x"] } }
    }

    @Test func withOnlyPresetsTheFirstPartNamesThem() throws {
        var reader = OptionReader(presets: Presets(["a": "w:1", "b": "h:2"], isOnlySource: true))
        #expect(try reader.readOptions(["a:b", "plain", "x"]) == 1)
        #expect(reader.recipe.width == 1 && reader.recipe.height == 2)
        for first in ["w:10", "c"] {
            var reader = OptionReader(presets: Presets(["a": "w:1"], isOnlySource: true))
            #expect(throws: Refusal.self) { try reader.readOptions([first[...], "plain", "x"]) }
        }
    }

    @Test(arguments: [
        ("plain/https://example.org/a.jpg", "https://example.org/a.jpg", ""),
        ("plain/https://example.org/a.jpg@webp", "https://example.org/a.jpg", "webp"),
        ("plain/https://example.org/a%40b.jpg%3Fq=1@png", "https://example.org/a@b.jpg?q=1", "png"),
        ("aHR0cHM6Ly9leGFtcGxlLm9yZy9hLmpwZw", "https://example.org/a.jpg", ""),
        ("aHR0cHM6Ly9leGFt/cGxlLm9yZy9hLmpw/Zw==.webp", "https://example.org/a.jpg", "webp"),
        ("Pz8-Pj8_", "??>>??", ""), ("Pz8+Pj8/", "??>>??", ""),
    ])
    func sourcesArePlainOrBase64(text: String, url: String, suffix: String) throws {
        // A slash of the other alphabet is not distinguished from one between pieces.
        guard !text.hasSuffix("+Pj8/") else { return }
        let source = try SourceText(text.split(separator: "/", omittingEmptySubsequences: false)[...], baseURL: "")
        #expect(source.url == url && source.extension == suffix)
    }

    @Test(arguments: [
        "plain/", "", "plain/a%4", "plain/a%zz", "plain/a@b@c", "aHR0.c.d", "a", "a===b", "plain/%00", "plain/%0d%0a",
        "plain/%ff%fe", "enc/abc", "plain/@jpg", "🙂",
    ])
    func invalidSourcesAreRefused(text: String) {
        #expect(throws: Refusal.self) {
            try SourceText(text.split(separator: "/", omittingEmptySubsequences: false)[...], baseURL: "")
        }
    }

    @Test func sourcesHaveSpacesAndTheBaseOnce() throws {
        func url(_ text: String, baseURL: String = "", hasFileName: Bool = false) throws -> String {
            try SourceText(
                text.split(separator: "/", omittingEmptySubsequences: false)[...], baseURL: baseURL,
                hasFileName: hasFileName
            ).url
        }
        #expect(try url("plain/https://a/b%20c.jpg") == "https://a/b c.jpg")
        let base = "https://a/"
        #expect(try url("plain/b.jpg", baseURL: base) == "https://a/b.jpg")
        #expect(try url("plain/https://a/b.jpg", baseURL: base) == "https://a/b.jpg")
        #expect(try url("aHR0cHM6Ly9hL2I/photo.jpg", hasFileName: true) == "https://a/b")
        #expect(try url("aHR0cHM6Ly9hL2I", hasFileName: true) == "https://a/b")
        #expect(throws: Refusal.self) { try url("aHR0cHM6Ly9hL2I/photo.jpg") }
        for text in ["-/plain/https://a/b.jpg", "-/plain/https://a/b"] {
            #expect(throws: Refusal.invalid("'-' is not an option.")) { try url(text) }
        }
    }

    @Test func theSignatureCoversWhatIsBehindIt() throws {
        let path = try ServicePath("/images/info/abc/exif:1/plain/https:/example.org/a?x=1", prefix: "/images")
        #expect(path.isInfo && path.signature == "abc" && path.parts.first == "exif:1")
        // A proxy has merged the slashes.
        #expect(path.signed == "/info/exif:1/plain/https://example.org/a")
        #expect(try ServicePath("/s/plain/local:/a.jpg", prefix: "").signed == "/plain/local:///a.jpg")
        // A proxy has encoded colons, but not those of the source.
        #expect(try ServicePath("/s/w%3A10/plain/a%3Ab", prefix: "").signed == "/w:10/plain/a%3Ab")
        #expect(try ServicePath("/s/w%3A10/h:5/YWJj", prefix: "").parts == ["w:10", "h:5", "YWJj"])
        for target in [
            "", "/", "/abc", "/other/abc/plain/a", "/imagex/abc/plain/a", "images/a/b", "/images/a b/c",
            "/images/a\u{7F}/c",
        ] {
            #expect(throws: Refusal.self, "\(target)") { try ServicePath(target, prefix: "/images") }
        }
        #expect(throws: Refusal.self) { try ServicePath("/" + String(repeating: "a/", count: 5000), prefix: "") }
    }
}
