// swift-tools-version: 6.2

import PackageDescription

// A separate package, so that the library does not depend on fuzzing. `make fuzz` builds it with
// `swift build --sanitize fuzzer --sanitize address -Xswiftc -parse-as-library`: libFuzzer provides the main function.
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
        fuzzer("FuzzJPEG2000"),
        fuzzer("FuzzMetadata"),
        fuzzer("FuzzPixels"),
        fuzzer("FuzzProfile"),
    ],
    swiftLanguageModes: [.v6]
)
