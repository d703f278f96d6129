import Dispatch
import FoundationEssentials
import Glibc
import WebImageGTK

/// How an image is written to a file.
struct PhotoExport: Sendable, Equatable {
    /// The format; `nil` for the bytes as they came.
    var format: ImageFormat?
    /// 0 to 1.
    var quality = 0.85
    var isLossless = false
    /// The limit of both sides, in pixels; `nil` for none.
    var longestSide: Int?
    /// The limit of the file, in bytes; `nil` for none.
    var byteLimit: Int?
    /// Whether the file has the original's EXIF and XMP: camera, date and place.
    var keepsMetadata = true
    /// The number of clockwise quarter turns.
    var quarterTurns = 0

    /// The formats to choose from.
    static var formats: [ImageFormat] {
        // An icon is cropped to a square, and no program opens Netpbm's files.
        ImageFormat.known.filter { CodecRegistry.shared.canEncode($0) && $0 != .ico && $0 != .pnm }
    }

    /// Whether the format has a choice of quality.
    var usesQuality: Bool { format.map { EncodingOptions(isLossless: isLossless).usesQuality(as: $0) } ?? false }

    /// Whether the format can be lossless or not.
    var canBeLossless: Bool {
        format.map { EncodingOptions().usesQuality(as: $0) && !EncodingOptions(isLossless: true).usesQuality(as: $0) }
            ?? false
    }

    /// Why an image can't be saved.
    enum Failure: Error, CustomStringConvertible {
        case image(WebImageError)
        case file(String)

        var description: String {
            switch self {
            case .image(let error): error.userDescription
            case .file(let reason): reason
            }
        }
    }

    /// Returns the file's bytes. Loads the original through the manager, and encodes on a separate thread.
    func data(of url: URL, manager: WebImageManager) async throws(WebImageError) -> Data {
        var request = WebImageRequest(url, options: .ignoreDecoding, priority: .high)
        request.keepsPixels = false
        guard let original = try await manager.response(for: request).data else {
            throw .notInCache(key: url.absoluteString)
        }
        guard format != nil || quarterTurns != 0 else { return original }
        let result = await Self.onOwnThread { () -> Result<Data, WebImageError> in
            Result { () throws(WebImageError) in try encode(original) }
        }
        return try result.get()
    }

    /// Writes the image to a file, which is replaced once all is written.
    func write(_ url: URL, to file: URL, manager: WebImageManager) async throws(Failure) {
        let data: Data
        do { data = try await self.data(of: url, manager: manager) } catch { throw .image(error) }
        let reason = await Self.onOwnThread { () -> String? in
            do {
                try data.write(to: file, options: .atomic)
                return nil
            } catch {
                let system = (error as? CocoaError)?.userInfo["NSUnderlyingError"] as? POSIXError
                return system.map { String(cString: strerror($0.code.rawValue)) } ?? "The file can't be written"
            }
        }
        if let reason { throw .file(reason) }
    }

    private func encode(_ original: Data) throws(WebImageError) -> Data {
        let registry = CodecRegistry.shared
        var image = try registry.decode(original)
        let format = format ?? image.format.flatMap { Self.formats.contains($0) ? $0 : nil } ?? .png
        if quarterTurns != 0 {
            image = try image.processed(by: [.rotate(degrees: Double(quarterTurns * 90))])
        }
        var options = EncodingOptions(
            quality: quality, bounds: longestSide.map { Thumbnail(.pixels(width: $0, height: $0)) },
            byteLimit: byteLimit, isLossless: isLossless)
        if keepsMetadata { options.metadata = try registry.metadata(of: original) }
        return try registry.encode(image, as: format, options: options)
    }

    /// Runs work that takes seconds. The threads for decoding serve the images on screen.
    private static func onOwnThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            DispatchQueue.global(qos: .utility).async { continuation.resume(returning: body()) }
        }
    }

    /// Returns a name for the file.
    func fileName(for url: URL, original: ImageFormat?) -> String {
        let name = url.displayName
        guard let format = format ?? original else { return name }
        let stem = url.deletingPathExtension().displayName
        return ImageFormat(named: url.pathExtension) == format ? name : "\(stem).\(format.fileExtension)"
    }
}
