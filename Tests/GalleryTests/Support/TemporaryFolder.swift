import Foundation
import WebImageTestSupport

@testable import GTKTestSupport
@testable import WebImageGTK

/// A folder that is removed with its last reference.
final class TemporaryFolder {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("Gallery-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { TemporaryDirectory.remove(url.path) }

    var path: String { url.path }

    /// Writes a PNG file, and the folders that it is in.
    @discardableResult func writeImage(_ path: String, _ swatch: Swatch = .red) throws -> URL {
        try write(path, try CodecRegistry.shared.encode(try swatch.image(), as: .png))
    }

    @discardableResult func write(_ path: String, _ data: Data) throws -> URL {
        let file = url.appendingPathComponent(path)
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try data.write(to: file)
        return file
    }
}
