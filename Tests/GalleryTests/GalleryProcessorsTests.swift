import CWebImageGTK
import Foundation
import WebImageTestSupport
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK

/// The page of processors: the code that it shows is what it does.
final class ProcessorsPageTests: GTKTestCase {
    private func operands() throws -> ProcessorOperands {
        try ProcessorOperands(from: try SampleFile.landscape(1, size: PixelSize(width: 96, height: 60)))
    }

    private func step(_ name: String, _ values: [String: ProcessorValue] = [:]) throws -> ProcessorRecipe.Step {
        var step = ProcessorRecipe.Step(try XCTUnwrap(ProcessorKind.named(name)))
        for (key, value) in values {
            XCTAssertNotNil(step.values[key], "\(name) has no parameter \(key)")
            step.values[key] = value
        }
        return step
    }

    func testCodeIsTheProcessorThatRuns() throws {
        let operands = try operands()
        let (badge, texture, mask) = (operands.badge, operands.texture, operands.mask)
        let orange = Color(red: 1, green: 0.5, blue: 0.125)
        // Each line has the code twice: as text, and for the compiler.
        let examples: [(ProcessorRecipe.Step, String, ImageProcessor)] = [
            (
                try step("resize"), ".resize(to: .pixels(width: 480, height: 320))",
                .resize(to: .pixels(width: 480, height: 320))
            ),
            (
                try step("resize", ["mode": .choice(1), "width": .number(50)]),
                ".resize(toFill: .pixels(width: 50, height: 320))", .resize(toFill: .pixels(width: 50, height: 320))
            ),
            (
                try step("resize", ["mode": .choice(2)]),
                ".resize(to: .pixels(width: 480, height: 320), mode: .aspectFill)",
                .resize(to: .pixels(width: 480, height: 320), mode: .aspectFill)
            ),
            (
                try step("resize", ["mode": .choice(4), "color": .color(orange)]),
                ".letterbox(to: .pixels(width: 480, height: 320), color: Color(red: 1, green: 0.5, blue: 0.125))",
                .letterbox(
                    to: .pixels(width: 480, height: 320), color: Color(red: 1, green: 0.5, blue: 0.125))
            ),
            (
                try step("crop", ["x": .number(7)]),
                ".crop(toPixels: PixelRect(x: 7, y: 60, width: 360, height: 280))",
                .crop(toPixels: PixelRect(x: 7, y: 60, width: 360, height: 280))
            ),
            (try step("inset"), ".inset(-24, color: .white)", .inset(-24, color: .white)),
            (try step("corners"), ".roundedCorners(radius: 40)", .roundedCorners(radius: 40)),
            (
                try step("circle", ["border": .number(3), "borderColor": .color(.black)]),
                ".circle(border: Border(width: 3, color: .black))", .circle(border: Border(width: 3, color: .black))
            ),
            (
                try step("rotate", ["degrees": .number(-30), "keepsSize": .flag(true)]),
                ".rotate(degrees: -30, keepsSize: true)", .rotate(degrees: -30, keepsSize: true)
            ),
            (try step("flip"), ".flip(horizontally: true)", .flip(horizontally: true)),
            (try step("flip", ["horizontally": .flag(false)]), ".flip()", .flip()),
            (
                try step("color"), ".color(saturation: 1.4, brightness: 0, contrast: 1.1)",
                .color(saturation: 1.4, brightness: 0, contrast: 1.1)
            ),
            (try step("sepia", ["amount": .number(0.35)]), ".sepia(0.35)", .sepia(0.35)),
            (
                try step("tint", ["color": .color(orange), "mode": .choice(1)]),
                ".tint(Color(red: 1, green: 0.5, blue: 0.125), mode: .multiply)",
                .tint(Color(red: 1, green: 0.5, blue: 0.125), mode: .multiply)
            ),
            (try step("blur"), ".blur(radius: 12)", .blur(radius: 12)),
            (
                try step("glass", ["effect": .choice(4), "color": .color(orange)]),
                ".blur(.tinted(Color(red: 1, green: 0.5, blue: 0.125)))",
                .blur(.tinted(Color(red: 1, green: 0.5, blue: 0.125)))
            ),
            (
                try step("overlay", ["opacity": .number(0.5)]),
                ".overlay(badge, at: .bottomRight, margin: 16, opacity: 0.5)",
                .overlay(badge, at: .bottomRight, margin: 16, opacity: 0.5)
            ),
            (
                try step("blend", ["mode": .choice(1)]), ".blend(texture, mode: .multiply, opacity: 0.7)",
                .blend(texture, mode: .multiply, opacity: 0.7)
            ),
            (try step("mask"), ".mask(mask)", .mask(mask)),
        ]
        for (step, code, processor) in examples {
            XCTAssertEqual(step.code, code)
            let made = try XCTUnwrap(step.kind?.make(step.values, operands))
            XCTAssertEqual("\(made.identifier)", "\(processor.identifier)", code)
        }
    }

    /// The values that a field can have at its ends, and each choice.
    private func extremes(of field: ProcessorField) -> [ProcessorValue] {
        switch field.kind {
        case .number(let range, _, _): [.number(range.lowerBound), .number(range.upperBound)]
        case .flag: [.flag(false), .flag(true)]
        case .color: [.color(.white), .color(Color(red: 0.25, green: 0.333, blue: 1))]
        case .choice(let titles): titles.indices.map { .choice($0) }
        }
    }

    func testCodeOfAllProcessorsCompiles() throws {
        let directory = try TemporaryDirectory()
        var files: [String] = []
        func write(_ recipe: ProcessorRecipe) throws {
            let name = "show\(files.count)"
            let path = "\(directory.path)/\(name).swift"
            let code = recipe.code.replacingOccurrences(of: "func show(", with: "func \(name)(")
            try Data(code.utf8).write(to: URL(filePath: path))
            files.append(path)
        }
        try write(ProcessorRecipe())
        var all = ProcessorRecipe()
        for kind in ProcessorKind.all {
            all.steps.append(ProcessorRecipe.Step(kind))
            for field in kind.fields {
                for value in extremes(of: field) {
                    var step = ProcessorRecipe.Step(kind)
                    step.values[field.name] = value
                    all.steps.append(step)
                }
            }
        }
        try write(all)
        let (status, output) = try typecheck(files)
        XCTAssertEqual(status, 0, output)
        // A compiler that finds nothing wrong with anything would prove nothing.
        let wrong = "\(directory.path)/wrong.swift"
        let code = ProcessorRecipe(names: ["rotate"]).code
        XCTAssertTrue(code.contains("degrees:"), code)
        try Data(code.replacingOccurrences(of: "degrees:", with: "angle:").utf8).write(to: URL(filePath: wrong))
        XCTAssertNotEqual(try typecheck([wrong]).status, 0)
    }

    /// Compiles files against the modules that the tests were built with.
    private func typecheck(_ files: [String]) throws -> (status: Int32, output: String) {
        let build = try XCTUnwrap(Bundle.main.executableURL?.deletingLastPathComponent())
        let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Sources")
        // That of the build has the modules already, if it belongs to the user of the tests.
        let built = build.appending(path: "ModuleCache").path
        let cache = FileManager.default.isWritableFile(atPath: built) ? built : TestHome.directory + "/modules"
        var arguments = [
            "swiftc", "-typecheck", "-swift-version", "6", "-I", build.appending(path: "Modules").path,
            "-module-cache-path", cache,
        ]
        let wings = try FileManager.default.contentsOfDirectory(at: sources, includingPropertiesForKeys: nil)
        let targets = try wings.flatMap {
            try FileManager.default.contentsOfDirectory(at: $0, includingPropertiesForKeys: nil)
        }
        for target in targets where target.lastPathComponent.hasPrefix("C") {
            for map in [
                target.appending(path: "module.modulemap").path,
                target.appending(path: "include/module.modulemap").path,
                build.appending(path: "\(target.lastPathComponent).build/module.modulemap").path,
            ] where FileManager.default.fileExists(atPath: map) {
                arguments += ["-Xcc", "-fmodule-map-file=\(map)"]
                break
            }
        }
        for flag in try run(["pkg-config", "--cflags-only-I", "gtk4"]).output.split(whereSeparator: \.isWhitespace) {
            arguments += ["-Xcc", String(flag)]
        }
        return try run(arguments + files)
    }

    private func run(_ arguments: [String]) throws -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = arguments
        // Compilers may be installed in the user's home directory, and leave a temporary directory after an error.
        process.environment = ProcessInfo.processInfo.environment
            .merging(["HOME": TestHome.former ?? "/", "TMPDIR": TestHome.directory]) { $1 }
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, output)
    }

    func testCodeHasAParameterForEachOtherImage() throws {
        var recipe = ProcessorRecipe(names: ["overlay", "grayscale", "mask", "overlay"])
        XCTAssertTrue(
            recipe.code.contains("func show(_ url: URL, in picture: WebPicture, badge: Image, mask: Image) {"))
        XCTAssertFalse(recipe.code.contains("texture"))
        recipe.steps.removeAll()
        XCTAssertTrue(recipe.code.contains("    picture.setImage(url)\n"))
    }

    func testEachProcessorChangesThePhotograph() throws {
        let photograph = try SampleFile.landscape(4, size: PixelSize(width: 720, height: 450))
        let operands = try operands()
        for kind in ProcessorKind.all {
            let result = try ProcessorRecipe(names: [kind.name]).apply(to: photograph, with: operands)
            let isSame =
                result.pixels.size == photograph.pixels.size
                && stride(from: 0, to: 450, by: 9).allSatisfy { y in
                    stride(from: 0, to: 720, by: 9).allSatisfy { result.pixels[$0, y] == photograph.pixels[$0, y] }
                }
            XCTAssertFalse(isSame, kind.name)
        }
    }
}
