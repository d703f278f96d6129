// swift-tools-version: 6.2

import PackageDescription

// A package of its own, so that the library's has nothing to do with fuzzing. `make fuzz` builds it with
// `swift build --sanitize fuzzer --sanitize address -Xswiftc -parse-as-library`: libFuzzer brings the main function.
func fuzzer(_ name: String) -> Target {
    .executableTarget(
        name: name, dependencies: [.product(name: "FuzzSupport", package: "swift-web-image")])
}

let package = Package(
    name: "swift-web-image-fuzzing",
    dependencies: [.package(name: "swift-web-image", path: "..")],
    targets: [
        fuzzer("FuzzJPEG"),
        fuzzer("FuzzPNG"),
        fuzzer("FuzzGIF"),
        fuzzer("FuzzWebP"),
        fuzzer("FuzzBMP"),
        fuzzer("FuzzICO"),
        fuzzer("FuzzICNS"),
        fuzzer("FuzzPNM"),
        fuzzer("FuzzQOI"),
        fuzzer("FuzzProbe"),
        fuzzer("FuzzMedia"),
        fuzzer("FuzzMetadata"),
        fuzzer("FuzzPixels"),
        fuzzer("FuzzProfile"),
    ],
    swiftLanguageModes: [.v6]
)
