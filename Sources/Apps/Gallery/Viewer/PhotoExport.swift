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
    /// The part to keep of the rotated image; `nil` for all.
    var crop: PixelRect?

    /// The formats to choose from.
    static var formats: [ImageFormat] {
        // An icon is cropped to a square, and no program opens Netpbm's files.
        ImageFormat.known.filter { CodecRegistry.shared.canEncode($0) && $0 != .ico && $0 != .pnm }
    }

    /// Whether the pixels are others, so that the bytes as they came cannot be kept.
    var changesPixels: Bool { quarterTurns != 0 || crop != nil }

    /// Whether the format has a choice of quality.
    var usesQuality: Bool { format.map { EncodingOptions(isLossless: isLossless).usesQuality(as: $0) } ?? false }

    /// Whether the format can be lossless or not.
    var canBeLossless: Bool {
        format.map { EncodingOptions().usesQuality(as: $0) && !EncodingOptions(isLossless: true).usesQuality(as: $0) }
            ?? false
    }

    /// Why an image cannot be saved.
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
        var request = WebImageRequest(url, options: .ignoreDecoding, priority: .high).forOwnFiles
        request.keepsPixels = false
        guard let original = try await manager.response(for: request).data else {
            throw .notInCache(key: url.absoluteString)
        }
        guard format != nil || changesPixels else { return original }
        let limits = request.decodingLimits ?? manager.configuration.decodingLimits
        return try await Self.queue.run { cancellation throws(WebImageError) in
            try encode(original, limits: limits, cancellation)
        }
    }

    /// Writes the image to a file, which is replaced once all is written. A cancelled task leaves the file as it was, unless
    /// all is encoded already.
    func write(_ url: URL, to file: URL, manager: WebImageManager) async throws(Failure) {
        let data: Data
        do { data = try await self.data(of: url, manager: manager) } catch { throw .image(error) }
        try await DispatchQueue.files.run { cancellation throws(Failure) in
            guard !cancellation.isCancelled else { throw .image(.cancelled) }
            do {
                try data.write(to: file, options: .atomic)
            } catch {
                let system = (error as? CocoaError)?.userInfo["NSUnderlyingError"] as? POSIXError
                throw .file(
                    system.map { String(cString: strerror($0.code.rawValue)) }
                        ?? localized("The file cannot be written"))
            }
        }
    }

    /// Encodes files one at a time, which takes seconds. The threads for decoding serve the images on screen.
    static let queue = DispatchQueue(label: "gallery-export", qos: .utility)

    /// Blocks the calling thread.
    ///
    /// - Parameter limits: what is refused, such as an image with too many pixels.
    func encode(
        _ original: Data, limits: DecodingLimits = .default, _ cancellation: Cancellation
    ) throws(WebImageError) -> Data {
        let registry = CodecRegistry.shared
        let bounds = longestSide.map { Thumbnail(.pixels(width: $0, height: $0)) }
        // The part to keep is in pixels of the whole image.
        var image = try registry.decode(
            original,
            options: DecodingOptions(thumbnail: crop == nil ? bounds : nil, limits: limits, cancellation: cancellation))
        let format = format ?? image.format.flatMap { Self.formats.contains($0) ? $0 : nil } ?? .png
        var processors: [ImageProcessor] = []
        if quarterTurns != 0 { processors.append(.rotate(degrees: Double(quarterTurns * 90))) }
        if let crop { processors.append(.crop(toPixels: crop)) }
        if !processors.isEmpty { image = try image.processed(by: processors, cancellation: cancellation) }
        var options = EncodingOptions(
            quality: quality, bounds: bounds, byteLimit: byteLimit, isLossless: isLossless, cancellation: cancellation)
        if keepsMetadata { options.metadata = try registry.metadata(of: original, limits: limits) }
        return try registry.encode(image, as: format, options: options)
    }

    /// Returns a name for the file.
    func fileName(for url: URL, original: ImageFormat?) -> String {
        let name = url.displayName
        let plain = url.deletingPathExtension().displayName
        let stem = crop == nil ? plain : localized("{name} (cropped)", ["name": plain])
        guard let format = format ?? original else { return name }
        return ImageFormat(named: url.pathExtension) == format && crop == nil ? name : "\(stem).\(format.fileExtension)"
    }
}
