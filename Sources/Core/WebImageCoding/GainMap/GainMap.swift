public import FoundationEssentials
internal import Glibc
public import WebImageCore

/// A second image by which an HDR display makes an image brighter (ISO 21496-1, Ultra HDR).
///
/// ```swift
/// var options = EncodingOptions(quality: 0.9)
/// options.gainMap = try CodecRegistry.shared.gainMap(of: data)
/// let copy = try CodecRegistry.shared.encode(CodecRegistry.shared.decode(data), as: .jpeg, options: options)
/// print(options.gainMap?.pixels.size ?? PixelSize(width: 0, height: 0), copy.count)
/// ```
///
/// The image is shown as it is where no map is understood. ``CodecRegistry/encode(_:processedBy:withGainMapOf:as:options:limits:)`` crops and
/// turns a map with its image.
public struct GainMap: Sendable {
    /// Gray, or a gain for each of red, green and blue; usually fewer pixels than the image has.
    public var pixels: PixelBuffer
    /// The size of the upright image that the map is for.
    public var imageSize: PixelSize
    var metadata: GainMapMetadata
    /// The colors whose primaries the gains are for; `nil` for those of the image, sRGB.
    var colors: GainMapColors?

    /// The formats of images that can have a map: JPEG and AVIF.
    public static let formats: Set<ImageFormat> = [.jpeg, .avif]

    /// The numbers by which pixels become gains, as files have them (ISO 21496-1, annex C): big-endian, without a header of a format.
    public var isoMetadata: Data { Data(metadata.iso) }

    /// Creates the map of an image in sRGB; `nil` for numbers that describe none.
    ///
    /// - Parameters:
    ///   - pixels: opaque.
    ///   - isoMetadata: the numbers by which pixels become gains, as files have them.
    ///   - imageSize: the size of the upright image.
    public init?(pixels: PixelBuffer, isoMetadata: Data, imageSize: PixelSize) {
        guard let metadata = GainMapMetadata(iso: [UInt8](isoMetadata)) else { return nil }
        self.init(pixels: pixels, metadata: metadata, imageSize: imageSize)
    }

    init(pixels: PixelBuffer, metadata: GainMapMetadata, colors: GainMapColors? = nil, imageSize: PixelSize) {
        (self.pixels, self.metadata, self.colors, self.imageSize) = (pixels, metadata, colors, imageSize)
    }
}

/// A gain map as a file stores it.
package struct StoredGainMap: Sendable {
    /// A file with the map as its only image, upright like the image, and without colors of its own.
    package var file: Data
    var metadata: GainMapMetadata
    /// Those of the image, or of the brighter one, as the metadata say; `nil` for sRGB.
    package var colors: GainMapColors?
    /// The meaning of the pixels' values.
    var encoding = Encoding.iso

    package enum Encoding: UInt8, Sendable {
        case iso
        /// The gain minus 1 as a share of the largest, with the curve of sRGB: Apple's, before ISO 21496-1.
        case linear
    }

    package init(file: Data, metadata: GainMapMetadata, colors: GainMapColors?, encoding: Encoding = .iso) {
        (self.file, self.metadata, self.colors, self.encoding) = (file, metadata, colors, encoding)
    }
}

extension StoredGainMap {
    /// Reads what a message has; `nil` if it is invalid.
    package init?(file: Data, metadataBytes: [UInt8], colors: [UInt8]?) {
        guard let encoding = metadataBytes.first.flatMap(Encoding.init),
            let metadata = GainMapMetadata(iso: Array(metadataBytes.dropFirst()))
        else { return nil }
        self.init(
            file: file, metadata: metadata, colors: colors.flatMap { GainMapColors(bytes: $0) }, encoding: encoding)
    }

    /// The encoding and the metadata, for messages.
    package var metadataBytes: [UInt8] { [encoding.rawValue] + metadata.iso }
}

extension GainMap {
    /// `nil` for pixels that are no map.
    init?(_ stored: StoredGainMap, _ image: Image, imageSize: PixelSize) throws(WebImageError) {
        guard image.pixels.isOpaque,
            let pixels = stored.encoding == .linear ? try stored.metadata.logarithmic(image.pixels) : image.pixels
        else { return nil }
        self.init(pixels: pixels, metadata: stored.metadata, colors: stored.colors, imageSize: imageSize)
        // One gain for all channels is the same in all primaries.
        if isGray, metadata.channels.count == 1 { colors = nil }
        // The image is sRGB now; what it was before is given by its colors.
        metadata.usesBaseColors = colors == nil
    }

    /// Whether all channels have the same pixels.
    var isGray: Bool {
        for y in 0..<pixels.height {
            let row = pixels.row(y)
            for x in 0..<pixels.width where row[x * 4] != row[x * 4 + 1] || row[x * 4] != row[x * 4 + 2] {
                return false
            }
        }
        return true
    }

    /// Returns the map of an image that was made of the map's.
    ///
    /// - Parameter size: of the result.
    func following(
        _ geometry: ImageGeometry, to size: PixelSize, cancellation: Cancellation? = nil
    ) throws(WebImageError) -> GainMap {
        let (part, orientation) = (geometry.part, geometry.orientation)
        let stored = orientation.upright(size)
        let region = PixelRegion(
            x: part.x * Double(pixels.width), y: part.y * Double(pixels.height),
            width: part.width * Double(pixels.width), height: part.height * Double(pixels.height))
        // Maps are not enlarged.
        func length(_ length: Double, _ new: Int, _ old: Double) -> Int {
            max(1, Int((length * min(1, Double(new) / old)).rounded()))
        }
        let target = PixelSize(
            width: length(region.width, stored.width, part.width * Double(imageSize.width)),
            height: length(region.height, stored.height, part.height * Double(imageSize.height)))
        var result = self
        // A sharper filter would make gains that are not in the map.
        result.pixels = try pixels.resampled(to: target, region: region, kernel: .triangle, cancellation: cancellation)
            .upright(from: orientation, cancellation: cancellation)
        result.imageSize = size
        return result
    }
}

extension GainMapMetadata {
    /// Returns the logarithms of pixels of ``StoredGainMap/Encoding/linear``; `nil` for a largest gain that no display has, whose
    /// logarithms are not computable.
    fileprivate func logarithmic(_ pixels: PixelBuffer) throws(WebImageError) -> PixelBuffer? {
        let largest = channels[0].maximum.value
        guard largest > 0, largest <= 64 else { return nil }
        let table = ToneCurve.sRGB.lightOfBytes.map { light in
            UInt8((log2(1 + (exp2(largest) - 1) * light) / largest * 255).rounded())
        }
        var copy = try pixels.copied()
        let (bytesPerRow, width) = (copy.bytesPerRow, pixels.width)
        copy.withUnsafeMutableBytes { bytes in
            for y in 0..<pixels.height {
                for x in 0..<width * 4 where x % 4 != 3 {
                    bytes[y * bytesPerRow + x] = table[Int(bytes[y * bytesPerRow + x])]
                }
            }
        }
        return copy.freeze(isOpaque: true)
    }
}
