// swift-tools-version: 6.2

import PackageDescription

// A separate package, so that the examples see only the public interface.

/// The parts of the library that are left out.
let without = Set((Context.environment["WEBIMAGE_WITHOUT"] ?? "").split(separator: ","))

/// Returns the target of an example that uses `products` of the library, and the program that decodes further formats.
func example(_ name: String, products: String..., modules: [Target.Dependency] = []) -> Target {
    .executableTarget(
        name: name,
        dependencies: (products + ["webimage-decoder"]).map { .product(name: $0, package: "swift-web-image") }
            + modules,
        exclude: ["README.md"])
}

/// Returns the targets of an adapter for a framework: a program, and what stands in for the framework.
func adapter(_ name: String) -> [Target] {
    [
        .target(name: "\(name)StandIn", dependencies: ["CGTK"], path: "Adapters/StandIns/\(name)"),
        .executableTarget(
            name: "\(name)Adapter",
            dependencies: [
                "AdapterHost", "CGTK", .target(name: "\(name)StandIn"),
                .product(name: "WebImageGTK", package: "swift-web-image"),
            ], path: "Adapters/\(name)"),
    ]
}

/// Returns the target of an adapter for a framework of servers: a program, with what stands in for the framework. It counts as another
/// package than the stand-ins.
func serverAdapter(_ name: String, standIns: String...) -> Target {
    .executableTarget(
        name: "\(name)Adapter",
        dependencies: ([name] + standIns).map { .target(name: $0) }
            + ["WebImage", "WebImageService", "webimage-decoder"].map {
                .product(name: $0, package: "swift-web-image")
            }, path: "Adapters/\(name)", packageAccess: false)
}

/// Returns the target of what stands in for a module of a framework of servers. It has the module's name, so that adapters import it as
/// they import the module.
func standIn(_ name: String, _ dependencies: Target.Dependency...) -> Target {
    .target(name: name, dependencies: dependencies, path: "Adapters/StandIns/\(name)")
}

var targets = [
    example("Thumbnailer", products: "WebImage"),
    example("FolderCache", products: "WebImage"),
    example("ArchiveLoader", products: "WebImage"),
    example("ImageGateway", products: "WebImage", "WebImageService"),
    example("ImageFunctions", products: "WebImage"),
    .target(name: "ServerHost", path: "Adapters/ServerHost"),
    standIn("NIOCore"),
    standIn("NIOHTTP1"),
    standIn("Logging"),
    standIn("Metrics"),
    standIn("Tracing"),
    standIn("HTTPTypes"),
    standIn("ServiceLifecycle", "Logging"),
    standIn("AsyncHTTPClient", "NIOCore", "NIOHTTP1", .product(name: "WebImage", package: "swift-web-image")),
    standIn("Vapor", "ServerHost", "Logging", "NIOCore", "NIOHTTP1"),
    standIn("Hummingbird", "ServerHost", "HTTPTypes", "Logging", "NIOCore", "ServiceLifecycle"),
    serverAdapter("Vapor"),
    serverAdapter("Hummingbird", standIns: "HTTPTypes", "ServiceLifecycle"),
    serverAdapter("AsyncHTTPClient"),
    serverAdapter("Logging"),
    serverAdapter("Metrics"),
    serverAdapter("Tracing"),
    serverAdapter("ServiceLifecycle", standIns: "Logging"),
    serverAdapter("HTTPTypes"),
]
if !without.contains("drawing") { targets.append(example("ContactSheet", products: "WebImage", "WebImageDrawing")) }
if !without.contains("gtk") {
    targets += [
        .systemLibrary(name: "CGTK", pkgConfig: "gtk4"),
        example("ImageWindow", products: "WebImageGTK", modules: ["CGTK"]),
        example("ImageViewer", products: "WebImageGTK", modules: ["CGTK"]),
        example("PhotoPile", products: "WebImageGTK", modules: ["CGTK"]),
        example("Feed", products: "WebImageGTK", modules: ["CGTK"]),
        .executableTarget(
            name: "LanguagesFeed", dependencies: ["CGTK", .product(name: "WebImageGTK", package: "swift-web-image")],
            path: "Languages",
            exclude: [
                "feed.c", "feed.js", "feed.py", "feed.vala", "photos.ui", "rust", "show.py", "store.c", "thumbnail.py",
                "vault.py",
            ]),
        .target(
            name: "AdapterHost", dependencies: ["CGTK", .product(name: "WebImageGTK", package: "swift-web-image")],
            path: "Adapters/Host"),
    ]
    targets += ["SwiftCrossUI", "AdwaitaSwift", "SwiftAdwaita", "SwiftGtk"].flatMap(adapter)
}

let package = Package(
    name: "Examples",
    dependencies: [.package(name: "swift-web-image", path: "..")],
    targets: targets,
    swiftLanguageModes: [.v6]
)
