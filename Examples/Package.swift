// swift-tools-version: 6.2

import PackageDescription

// The README's programs as a separate package, so that they see only the public interface.
let hasViews = !(Context.environment["WEBIMAGE_WITHOUT"] ?? "").split(separator: ",").contains("gtk")

var targets: [Target] = [
    .executableTarget(
        name: "Thumbnailer", dependencies: [.product(name: "WebImage", package: "swift-web-image")]),
    .executableTarget(
        name: "FolderCache", dependencies: [.product(name: "WebImage", package: "swift-web-image")]),
    .executableTarget(
        name: "ArchiveLoader", dependencies: [.product(name: "WebImage", package: "swift-web-image")]),
    .executableTarget(
        name: "ThumbnailServer",
        dependencies: [
            .product(name: "WebImage", package: "swift-web-image"),
            .product(name: "WebImageShared", package: "swift-web-image"),
        ],
        exclude: ["README.md"]),
]
if hasViews {
    targets += [
        .systemLibrary(name: "CGTK", pkgConfig: "gtk4"),
        .executableTarget(
            name: "ImageWindow", dependencies: [.product(name: "WebImageGTK", package: "swift-web-image"), "CGTK"]),
        .executableTarget(
            name: "PhotoPile", dependencies: [.product(name: "WebImageGTK", package: "swift-web-image"), "CGTK"]),
        .executableTarget(
            name: "Feed", dependencies: [.product(name: "WebImageGTK", package: "swift-web-image"), "CGTK"]),
    ]
}

let package = Package(
    name: "Examples",
    dependencies: [.package(name: "swift-web-image", path: "..")],
    targets: targets,
    swiftLanguageModes: [.v6]
)
