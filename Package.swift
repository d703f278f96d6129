// swift-tools-version: 6.2

import Foundation
import PackageDescription

// WEBIMAGE_WITHOUT=gtk,map,drawing,formats,server leaves out the products that need GTK, libshumate, cairo and pango, the libraries of
// further formats, or libmicrohttpd, so that a server builds without them. Without gtk there is no map either. Instead of `formats`, single ones can be
// named.
//
// None of the libraries is linked: a decoder process loads that of its format.
let formatLibraries: [(name: String, package: String, flags: String?)] = [
    ("avif", "libavif-dev", flags("libavif", header: "avif/avif.h")),
    ("heif", "libheif-dev", flags("libheif", header: "libheif/heif.h")),
    ("jxl", "libjxl-dev", flags("libjxl libjxl_threads", header: "jxl/decode.h")),
    ("tiff", "libtiff-dev", flags("libtiff-4", header: "tiffio.h")),
    ("jp2", "libopenjp2-7-dev", flags("libopenjp2", header: "openjpeg-2.5/openjpeg.h", folders: ["openjpeg"])),
    ("svg", "librsvg2-dev", flags("librsvg-2.0", header: "librsvg-2.0/librsvg/rsvg.h", folders: ["rsvg"])),
]
let optionalParts = ["gtk", "map", "drawing", "formats", "server"] + formatLibraries.map(\.name)
let leftOut = Set((Context.environment["WEBIMAGE_WITHOUT"] ?? "").split(separator: ",").map(String.init))
for part in leftOut.subtracting(optionalParts).sorted() {
    fatalError("WEBIMAGE_WITHOUT names '\(part)'; the parts are \(optionalParts.joined(separator: ", "))")
}
let hasViews = !leftOut.contains("gtk")
let hasMap = hasViews && !leftOut.contains("map")
let hasDrawing = !leftOut.contains("drawing")
let hasServer = !leftOut.contains("server")
let builtFormats = leftOut.contains("formats") ? [] : formatLibraries.filter { !leftOut.contains($0.name) }
let hasFormats = !builtFormats.isEmpty
let formatFlags = builtFormats.compactMap(\.flags).joined(separator: " ")
let hasAllFormats = builtFormats.count == formatLibraries.count
let missingFormats = formatLibraries.filter { format in !builtFormats.contains { $0.name == format.name } }

// WEBIMAGE_WITH=benchmarks adds the benchmarks and the libraries that they compare with, such as LMDB, giflib and libspng, which
// nothing else needs: `make bench` sets it. WEBIMAGE_WITH=fuzzing adds what Fuzzing/run needs.
let added = Context.environment["WEBIMAGE_WITH"] ?? ""
guard ["", "benchmarks", "fuzzing"].contains(added) else {
    fatalError("WEBIMAGE_WITH names '\(added)'; the parts are benchmarks and fuzzing")
}

// ThreadSanitizer does not see inlined C functions, such as those of the lock; see Lock.swift.
let isSanitizingThreads = Context.environment["WEBIMAGE_TSAN"] == "1"

// The runtime of ThreadSanitizer needs what the decoder's sandbox refuses.
let decoder: [Target.Dependency] = isSanitizingThreads ? [] : ["WebImageDecoder"]

let settings: [SwiftSetting] =
    [
        .enableUpcomingFeature("InternalImportsByDefault"), .enableUpcomingFeature("ExistentialAny"),
        // An `async` function runs where its caller does: a hit in memory changes no thread.
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ]
    + (isSanitizingThreads ? [.define("WEBIMAGE_TSAN")] : [])

/// The flags for a library's headers, as the modules of pkg-config, or as files of Packaging/libraries.
///
/// SwiftPM refuses flags such as -pthread, -msse2 and -DAVIF_DLL of the libraries' own files, with a warning in each build, also of packages that
/// depend on this one. They are not needed: where the headers are in the usual place, only the folders are named, if headers are not in one that
/// compilers know anyway. Otherwise, and with `PKG_CONFIG_PATH`, pkg-config tells where they are.
///
/// - Parameter folders: the files of Packaging/libraries.
func flags(_ modules: String, header: String, folders: [String] = []) -> String? {
    let places = ["/usr/include", "/usr/include/x86_64-linux-gnu", "/usr/include/aarch64-linux-gnu"]
    let isUsual = places.contains { FileManager.default.fileExists(atPath: "\($0)/\(header)") }
    // SwiftPM separates names by spaces.
    guard isUsual, Context.environment["PKG_CONFIG_PATH"] == nil, !Context.packageDirectory.contains(" ") else {
        return modules
    }
    let files = folders.map { "\(Context.packageDirectory)/Packaging/libraries/\($0).pc" }
    return files.isEmpty ? nil : files.joined(separator: " ")
}

/// A library's module in Swift.
func system(_ name: String, _ packages: [String], _ flags: String?, path: String? = nil) -> Target {
    .systemLibrary(name: name, path: path, pkgConfig: flags, providers: [.apt(packages)])
}

func library(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: settings)
}
func program(_ name: String, _ dependencies: [Target.Dependency], path: String? = nil) -> Target {
    .executableTarget(name: name, dependencies: dependencies, path: path, swiftSettings: settings)
}
func tests(_ name: String, _ dependencies: [Target.Dependency], _ more: [SwiftSetting] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies + ["WebImageTestSupport"], swiftSettings: settings + more)
}

var products: [Product] = [
    .library(name: "WebImage", targets: ["WebImage"]),
    .library(name: "WebImageCore", targets: ["WebImageCore"]),
    .library(name: "WebImageCoding", targets: ["WebImageCoding"]),
    .library(name: "WebImageIsolation", targets: ["WebImageIsolation"]),
    .library(name: "WebImageProcessing", targets: ["WebImageProcessing"]),
    .library(name: "WebImageCaching", targets: ["WebImageCaching"]),
    .library(name: "WebImageLoading", targets: ["WebImageLoading"]),
    .library(name: "WebImageAnimation", targets: ["WebImageAnimation"]),
    .library(name: "WebImageShared", targets: ["WebImageShared"]),
    .library(name: "WebImageService", targets: ["WebImageService"]),
    .library(name: "WebImageMainLoop", targets: ["WebImageMainLoop"]),
    .library(name: "WebImageTesting", targets: ["WebImageTesting"]),
    .executable(name: "webimage", targets: ["WebImageCLI"]),
    .executable(name: "webimage-decoder", targets: ["WebImageDecoder"]),
]

var targets: [Target] = [
    // C: shims for what Swift cannot call (setjmp, variadics, per-function CPU targets) and modules of system
    // libraries.
    .target(name: "CWebImageLock"),
    .target(name: "CWebImageSystem"),
    .target(name: "CWebImageIsolation"),
    .target(
        name: "CWebImageSandbox", dependencies: ["CWebImageIsolation"], linkerSettings: [.linkedLibrary("seccomp")]),
    .target(name: "CWebImageJPEG", linkerSettings: [.linkedLibrary("jpeg")]),
    .target(name: "CWebImagePNG", linkerSettings: [.linkedLibrary("png16"), .linkedLibrary("z")]),
    .target(name: "CWebImageLibrary"),
    .target(name: "CWebImageCurl", dependencies: ["CWebImageLibrary"]),
    .target(name: "CWebImageKernels"),
    system("CWebImageWebP", ["libwebp-dev"], flags("libwebp", header: "webp/decode.h")),
    system("CWebImageDeflate", ["libdeflate-dev"], flags("libdeflate", header: "libdeflate.h")),
    system("CWebImageISAL", ["libisal-dev"], flags("libisal", header: "isa-l.h")),
    system("CWebImageLZ4", ["liblz4-dev"], flags("liblz4", header: "lz4.h")),
    system("CWebImageLCMS", ["liblcms2-dev"], flags("lcms2", header: "lcms2.h")),
    system("CWebImageSQLite", ["libsqlite3-dev"], flags("sqlite3", header: "sqlite3.h")),
    system("CWebImageGLib", ["libglib2.0-dev"], "glib-2.0"),

    // The library, lowest first: each target sees only those above it in this list.
    // Text as the system has it; no product, and used by the programs too.
    library("SystemText", ["CWebImageSystem"]),
    library("WebImageCore", ["SystemText", "CWebImageLock", "CWebImageSystem"]),
    library(
        "WebImageCoding",
        [
            "WebImageCore", "SystemText", "CWebImageJPEG", "CWebImagePNG", "CWebImageWebP", "CWebImageDeflate",
            "CWebImageISAL", "CWebImageLCMS", "CWebImageKernels",
        ]),
    .target(
        name: "WebImageIsolation", dependencies: ["WebImageCore", "WebImageCoding", "CWebImageIsolation"],
        swiftSettings: settings + missingFormats.map { .define("WEBIMAGE_WITHOUT_\($0.name.uppercased())") }),
    library("WebImageProcessing", ["WebImageCore", "WebImageCoding", "CWebImageKernels"]),
    library(
        "WebImageCaching",
        [
            "WebImageCore", "WebImageCoding", "WebImageIsolation", "CWebImageDeflate", "CWebImageLock", "CWebImageLZ4",
            "CWebImageSQLite",
        ]),
    library(
        "WebImageLoading", ["WebImageCore", "SystemText", "CWebImageCurl", "CWebImageDeflate", "CWebImageSystem"]),
    library("WebImageAnimation", ["WebImageCore", "WebImageCoding", "WebImageIsolation", "WebImageProcessing"]),
    library(
        "WebImage",
        [
            "WebImageCore", "WebImageCoding", "WebImageProcessing", "WebImageCaching", "WebImageLoading",
            "WebImageAnimation", "WebImageIsolation",
        ]),
    // For tests, also those of this package.
    library("WebImageTesting", ["WebImage", "WebImageCore"]),
    // The program that decodes for others. It has all codecs, and neither network nor caches. Nothing else loads the libraries of formats but
    // tests of them, and benchmarks that compare with them.
    .executableTarget(
        name: "WebImageDecoder",
        dependencies: ["WebImageCore", "WebImageCoding", "WebImageIsolation", "CWebImageSandbox"]
            + (hasFormats ? ["WebImageFormats"] : []),
        swiftSettings: settings + (hasFormats ? [.define("WEBIMAGE_FORMATS")] : [])),

    // Needs nothing of the library.
    library("WebImageMainLoop", ["CWebImageGLib"]),
    library("WebImageShared", ["WebImage", "WebImageCore", "WebImageCaching", "WebImageLoading", "SystemText"]),
    // Requests for images that URLs describe, from a server of any kind.
    library(
        "WebImageService",
        [
            "WebImage", "WebImageShared", "WebImageCaching", "WebImageCoding", "WebImageCore", "WebImageIsolation",
            "WebImageLoading", "WebImageProcessing", "SystemText",
        ]),
    // The help and the manual pages of programs.
    library("CommandReference", ["WebImageCore", "ProgramSupport"]),
    // What the programs share.
    .target(
        name: "ProgramSupport", dependencies: ["WebImage", "SystemText"], packageAccess: false, swiftSettings: settings),
    .executableTarget(
        name: "WebImageCLI",
        dependencies: [
            "WebImage", "WebImageShared", "WebImageIsolation", "CommandReference", "ProgramSupport", "CWebImageGLib",
        ],
        packageAccess: false, swiftSettings: settings),
    .target(
        name: "WebImageTestSupport", dependencies: ["WebImageCore", "WebImageCaching"],
        path: "Tests/WebImageTestSupport",
        swiftSettings: settings),
    .target(
        name: "CodingTestSupport", dependencies: ["WebImageCore", "WebImageCoding", "WebImageTestSupport"],
        path: "Tests/CodingTestSupport", swiftSettings: settings),
    tests("WebImageCoreTests", ["WebImageCore", "SystemText"]),
    program("DecodeMemoryProbe", ["WebImageCoding"], path: "Tests/DecodeMemoryProbe"),
    tests(
        "WebImageCodingTests",
        [
            "WebImageCoding", "CWebImageJPEG", "CWebImagePNG", "CWebImageDeflate", "CWebImageKernels",
            "DecodeMemoryProbe", "CodingTestSupport",
        ]),
    program(
        "MisbehavingDecoder",
        ["WebImageIsolation", "WebImageCoding", "WebImageCore", "CWebImageIsolation", "CWebImageSandbox"],
        path: "Tests/MisbehavingDecoder"),
    .target(name: "CIsolationHost", path: "Tests/CIsolationHost"),
    .executableTarget(
        name: "SandboxProbe", dependencies: ["CWebImageSandbox", "CWebImageIsolation"], path: "Tests/SandboxProbe"),
    program(
        "IsolationHost", ["WebImageIsolation", "WebImageCoding", "WebImageCore", "CIsolationHost"],
        path: "Tests/IsolationHost"),
    .executableTarget(
        name: "MutatedFiles",
        dependencies: ["WebImageIsolation", "WebImageCoding", "WebImageCore", "WebImageTestSupport", "WebImageDecoder"]
            + (hasFormats ? ["WebImageFormats"] : []),
        path: "Tests/MutatedFiles", swiftSettings: settings + (hasFormats ? [.define("WEBIMAGE_FORMATS")] : [])),
    tests(
        "WebImageIsolationTests",
        [
            "WebImageIsolation", "WebImageCoding", "WebImage", "CWebImageIsolation", "CWebImageLibrary",
            "WebImageDecoder",
            "MisbehavingDecoder", "IsolationHost", "MutatedFiles", "CodingTestSupport", "SandboxProbe",
            "CIsolationHost",
        ]
            + (hasFormats ? ["WebImageFormats"] : []), hasFormats ? [.define("WEBIMAGE_FORMATS")] : []),
    tests(
        "WebImageProcessingTests", ["WebImageProcessing", "WebImageCoding", "CWebImageKernels", "CodingTestSupport"]),
    program("CacheCrashWriter", ["WebImageCaching", "WebImageTestSupport"], path: "Tests/CacheCrashWriter"),
    tests("WebImageCachingTests", ["WebImageCaching", "WebImageCoding", "CWebImageSQLite", "CacheCrashWriter"]),
    tests("WebImageLoadingTests", ["WebImageLoading", "WebImageTesting"]),
    tests("WebImageAnimationTests", ["WebImageAnimation", "WebImageCoding", "WebImageProcessing"]),
    // Managers and the tool start the decoder.
    tests(
        "WebImageTests",
        ["WebImage", "WebImageTesting"] + decoder + (isSanitizingThreads ? [] : ["MisbehavingDecoder"]),
        hasFormats ? [.define("WEBIMAGE_FORMATS")] : []),
    tests("WebImageTestingTests", ["WebImageTesting", "WebImage"]),
    // XCTest, because Swift Testing does not run tests on the main thread.
    tests("WebImageMainLoopTests", ["WebImageMainLoop", "CWebImageGLib"]),
    tests("WebImageSharedTests", ["WebImageShared", "WebImage", "WebImageService", "WebImageTesting"]),
    tests("WebImageServiceTests", ["WebImageService", "WebImageShared", "WebImage", "CodingTestSupport"] + decoder),
    tests(
        "WebImageCLITests",
        [
            "WebImage", "WebImageCLI", "CommandReference", "ProgramSupport", "CWebImageSQLite", "CWebImageGLib",
            "CodingTestSupport",
        ]
            + decoder),
]

// Fuzzing is a package of its own, whose targets share code that uses declarations of this package.
if added == "fuzzing" {
    products.append(.library(name: "FuzzSupport", targets: ["FuzzSupport"]))
    targets.append(
        .target(
            name: "FuzzSupport", dependencies: ["WebImageCaching", "WebImageFormats", "CodingTestSupport"],
            path: "Fuzzing/Sources/FuzzSupport"))
}

if hasFormats {
    targets += [
        system("CWebImageFormatLibraries", builtFormats.map(\.package), formatFlags.isEmpty ? nil : formatFlags),
        .target(
            name: "CWebImageFormats", dependencies: ["CWebImageFormatLibraries", "CWebImageLibrary", "CWebImageJPEG"],
            cSettings: missingFormats.map { .define("CWI_WITHOUT_\($0.name.uppercased())") }),
        library("WebImageFormats", ["WebImageCore", "WebImageCoding", "CWebImageFormats", "CWebImageKernels"]),
        tests("WebImageFormatsTests", ["WebImageFormats", "WebImage", "CodingTestSupport"]),
    ]
}

if hasServer {
    products.append(.executable(name: "webimage-server", targets: ["WebImageServer"]))
    targets += [
        .target(name: "CWebImageHTTPD", linkerSettings: [.linkedLibrary("microhttpd")]),
        .executableTarget(
            name: "WebImageServer",
            dependencies: [
                "WebImage", "WebImageService", "WebImageShared", "WebImageCore", "WebImageIsolation", "WebImageLoading",
                "CommandReference", "ProgramSupport", "CWebImageHTTPD",
            ], packageAccess: false, swiftSettings: settings),
        tests("WebImageServerTests", ["WebImageServer", "WebImageService", "WebImage"] + decoder),
    ]
}

if hasDrawing {
    products.append(.library(name: "WebImageDrawing", targets: ["WebImageDrawing"]))
    targets += [
        system(
            "CWebImageCairo", ["libcairo2-dev", "libpango1.0-dev"],
            flags("pangocairo", header: "pango-1.0/pango/pangocairo.h", folders: ["pango"])),
        library(
            "WebImageDrawing",
            ["WebImageCore", "WebImageCoding", "WebImageProcessing", "CWebImageCairo", "CWebImageKernels"]),
        tests("WebImageDrawingTests", ["WebImageDrawing", "WebImageProcessing", "WebImageCoding"]),
    ]
}

if hasViews {
    products += [
        .library(name: "WebImageGTK", targets: ["WebImageGTK"]),
        // `Scripts/link-gobject` makes the shared library of it, because SwiftPM cannot link Swift's runtime into one.
        .library(name: "webimage-gtk", type: .static, targets: ["WebImageGObject"]),
        .executable(name: "Gallery", targets: ["GalleryProgram"]),
    ]
    targets += [
        system(
            "CWebImageGTK", ["libgtk-4-dev"], flags("gtk4", header: "gtk-4.0/gtk/gtk.h", folders: ["gtk", "pango"])),
        // Objects, signals and calls of GTK, for the views and for the Gallery; no product.
        library("GTKObjects", ["CWebImageGTK"]),
        library("WebImageGTK", ["WebImage", "WebImageMainLoop", "GTKObjects", "CWebImageGTK"]),
        .target(
            name: "CWebImageGObject", dependencies: ["CWebImageGTK"],
            cSettings: [.define("G_LOG_DOMAIN", to: "\"WebImage\""), .headerSearchPath("include")]),
        // libwebimage-gtk: classes in C over functions that Swift implements.
        .target(
            name: "WebImageGObject",
            dependencies: [
                "WebImageGTK", "GTKObjects", "WebImage", "WebImageShared", "SystemText", "CWebImageGObject",
                "CWebImageGTK",
            ], packageAccess: false, swiftSettings: settings),
        system(
            "CWebImageAdwaita", ["libadwaita-1-dev"],
            flags("libadwaita-1", header: "libadwaita-1/adwaita.h", folders: ["adwaita", "gtk", "pango"])),
        .target(name: "CGallery", linkerSettings: [.linkedLibrary("jpeg")]),
        // A library, so that tests and benchmarks can use its parts.
        .target(
            name: "Gallery",
            dependencies: [
                "WebImageGTK", "GTKObjects", "CommandReference", "ProgramSupport", "CWebImageGTK", "CWebImageAdwaita",
                "CWebImageDeflate", "CGallery",
            ]
                + (hasMap ? ["WebImageMap", "CWebImageShumate"] : []),
            exclude: hasMap ? [] : ["Pages/Map"],
            // Links to the files that are installed. In the program, so that it has its icons wherever it is.
            resources: [.embedInCode("Icons/gallery.svg"), .embedInCode("Icons/gallery-symbolic.svg")],
            packageAccess: false, swiftSettings: settings + (hasMap ? [.define("WEBIMAGE_MAP")] : [])),
        program("GalleryProgram", ["Gallery"]),
        program("AdwaitaProbe", ["WebImageGTK", "GTKObjects", "CWebImageGTK"], path: "Tests/AdwaitaProbe"),
        // Shows and pumps the views of all tests. As a test target, it is built with tests only, and may use what is internal.
        tests("GTKTestSupport", ["WebImageGTK", "GTKObjects", "CWebImageGTK"]),
        tests(
            "WebImageGTKTests",
            ["WebImageGTK", "GTKObjects", "CWebImageGTK", "CWebImageAdwaita", "AdwaitaProbe", "GTKTestSupport"]
                + decoder,
            hasFormats ? [.define("WEBIMAGE_FORMATS")] : []),
        .testTarget(
            name: "GalleryTests",
            dependencies: [
                "Gallery", "WebImageGTK", "GTKObjects", "ProgramSupport", "CWebImageGTK", "CWebImageAdwaita",
                "GTKTestSupport", "WebImageTestSupport",
            ] + decoder,
            exclude: hasMap ? [] : ["MarkersPageTests.swift"], swiftSettings: settings),
    ]
}

if hasMap {
    products.append(.library(name: "WebImageMap", targets: ["WebImageMap"]))
    targets += [
        system(
            "CWebImageShumate", ["libshumate-dev"],
            flags("shumate-1.0", header: "shumate-1.0/shumate/shumate.h", folders: ["shumate", "gtk", "pango"])),
        library("WebImageMap", ["WebImageGTK", "GTKObjects", "CWebImageGTK", "CWebImageShumate"]),
        tests("WebImageMapTests", ["WebImageMap", "GTKObjects", "CWebImageGTK", "CWebImageShumate", "GTKTestSupport"]),
    ]
}

if added == "benchmarks" {
    targets += [
        .target(
            name: "CWebImageBenchmarkPeers", dependencies: hasAllFormats ? ["CWebImageFormatLibraries"] : [],
            path: "Benchmarks/CWebImageBenchmarkPeers",
            exclude: hasAllFormats ? [] : ["formats.c"],
            linkerSettings: (["jpeg", "png16", "webp", "webpdemux", "gif", "lmdb", "spng"]
                + (hasAllFormats
                    ? [
                        "avif", "heif", "jxl", "jxl_threads", "tiff", "openjp2", "rsvg-2", "cairo", "gobject-2.0",
                        "glib-2.0",
                    ]
                    : []))
                .map { .linkedLibrary($0) }),
        // What the programs share: their tables, processes that are measured, and the files that clients of servers load.
        .target(name: "BenchmarkSupport", path: "Benchmarks/BenchmarkSupport", swiftSettings: settings),
        .executableTarget(
            name: "Benchmarks",
            dependencies: [
                "WebImage", "WebImageShared", "BenchmarkSupport", "WebImageTestSupport", "CWebImageBenchmarkPeers",
                "CWebImageSQLite",
                "CWebImageLCMS", "WebImageIsolation",
            ] + decoder + (hasServer ? ["WebImageServer"] : []) + (hasAllFormats ? ["WebImageFormats"] : []),
            path: "Benchmarks/Benchmarks",
            exclude: [
                "WebPictures/aiohttp_pillow.py", "WebPictures/make_pictures.py", "Service/aiohttp_server.py",
                "Service/measure.py",
            ],
            swiftSettings: settings + (hasServer ? [.define("WEBIMAGE_SERVER")] : [])
                + (hasAllFormats ? [.define("WEBIMAGE_FORMATS")] : [])),
        .executableTarget(
            name: "TransportBenchmarks", dependencies: ["WebImageLoading", "BenchmarkSupport", "WebImageTestSupport"],
            path: "Benchmarks/TransportBenchmarks", exclude: ["URLSessionClient"], swiftSettings: settings),
        // The peer has a program of its own: FoundationNetworking would weigh on ours.
        program("URLSessionClient", ["BenchmarkSupport"], path: "Benchmarks/TransportBenchmarks/URLSessionClient"),
    ]
}

if added == "benchmarks", hasViews {
    targets += [
        program(
            "GTKBenchmarks",
            [
                "WebImageGTK", "GTKObjects", "Gallery", "BenchmarkSupport", "CWebImageGTK", "CWebImageAdwaita",
                "WebImageTestSupport",
            ],
            path: "Benchmarks/GTKBenchmarks")
    ]
}

// Sources has five folders, the wings; each has a page that says what it is.
for target in targets where target.path == nil && target.type != .test {
    let paths = ["Core", "Decoder", "GTK", "Service", "Apps"].map { "Sources/\($0)/\(target.name)" }
    target.path = paths.first { FileManager.default.fileExists(atPath: "\(Context.packageDirectory)/\($0)") }
}

// WEBIMAGE_TESTS=WebImageTests,… builds no other tests: `make test-asan` and `make test-tsan` set it, which build all anew.
let builtTests = Set((Context.environment["WEBIMAGE_TESTS"] ?? "").split(separator: ",").map(String.init))
if !builtTests.isEmpty {
    targets.removeAll { $0.type == .test && !builtTests.contains($0.name) }
}

if isSanitizingThreads {
    products.removeAll { $0.name == "webimage-decoder" }
    let sandboxed = [
        "WebImageDecoder", "MisbehavingDecoder", "IsolationHost", "MutatedFiles", "WebImageIsolationTests",
    ]
    targets.removeAll { sandboxed.contains($0.name) }
}

let package = Package(
    name: "swift-web-image",
    products: products,
    targets: targets,
    swiftLanguageModes: [.v6],
    cLanguageStandard: .c11
)
