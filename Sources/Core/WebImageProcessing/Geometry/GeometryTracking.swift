public import FoundationEssentials
public import WebImageCoding
public import WebImageCore

/// A processor after which a pixel still shows the same place in the same light, so that a gain map can follow the image.
protocol GeometricProcessor: Processor {
    /// Returns what it does to an image; `nil` if it changes this image in another way, too.
    func step(of image: Image, cancellation: Cancellation?) throws(WebImageError) -> GeometricStep?
}

enum GeometricStep {
    /// All of the image, at any size.
    case whole
    case part(PixelRegion)
    /// The image is turned as if it was stored in that orientation.
    case turn(ImageOrientation)
    /// A part of whole pixels that took work to find.
    case crop(PixelRect)
}

extension ImageGeometry? {
    /// Returns an image processed by `processors`, in order, and follows which part of it the result shows. Becomes `nil` if a processor does
    /// something that a gain map cannot follow. Blocks the calling thread.
    ///
    /// - Throws: the errors of ``Image/processed(by:firstFrameOnly:cancellation:)``.
    package mutating func follow(
        _ processors: [ImageProcessor], of image: Image, cancellation: Cancellation? = nil
    ) throws(WebImageError) -> Image {
        guard self != nil else { return try image.processed(by: processors, cancellation: cancellation) }
        var image = image
        for processor in ProcessorChain(processors).processors {
            try cancellation?.check()
            let step = try (processor.base as? any GeometricProcessor)?.step(of: image, cancellation: cancellation)
            let result: Image
            if case .crop(let rect)? = step {
                result = try CropProcessor(area: .pixels(rect)).process(image, cancellation: cancellation)
            } else {
                result = try processor.process(image, cancellation: cancellation)
            }
            switch step {
            case .whole: break
            case .part(let region): self?.crop(to: region, of: image.pixels.size)
            case .turn(let orientation): self?.turn(from: orientation)
            case .crop(let rect): self?.crop(to: PixelRegion(rect), of: image.pixels.size)
            case nil: if result.pixels !== image.pixels { self = nil }
            }
            image = result
        }
        return image
    }
}

extension CodecRegistry {
    /// Processes an image and encodes the result with the gain map of the file that it was decoded from. Blocks the calling thread.
    ///
    /// ```swift
    /// let image = try CodecRegistry.shared.decode(data)
    /// let small = try CodecRegistry.shared.encode(
    ///     image, processedBy: [.resize(to: .pixels(width: 800))], withGainMapOf: data, as: .jpeg)
    /// ```
    ///
    /// The map is cropped, turned and mirrored like the image. The result has no map if a processor does more than crop, turn,
    /// mirror, scale and sharpen, if the format is neither JPEG nor AVIF, or if the image is animated. A map that is damaged or
    /// beyond the limits is left out.
    ///
    /// - Parameters:
    ///   - image: the whole image of the file, at any size, in sRGB.
    ///   - file: the original.
    ///   - limits: those of reading the map.
    /// - Throws: the errors of ``Image/processed(by:firstFrameOnly:cancellation:)`` and
    ///   ``CodecRegistry/encode(_:as:options:)-(Image,_,_)``.
    public func encode(
        _ image: Image, processedBy processors: [ImageProcessor], withGainMapOf file: Data, as format: ImageFormat,
        options: EncodingOptions = EncodingOptions(), limits: DecodingLimits = .default
    ) throws(WebImageError) -> Data {
        let cancellation = options.cancellation
        var options = options
        var geometry: ImageGeometry? = GainMap.formats.contains(format) ? ImageGeometry() : nil
        let image = try geometry.follow(processors, of: image, cancellation: cancellation)
        if let geometry {
            options.gainMap = try geometry.gainMap(
                of: file, info(of: file, limits: limits, cancellation: cancellation), for: image, by: self,
                options: DecodingOptions(limits: limits, cancellation: cancellation))
        }
        return try encode(image, as: format, options: options)
    }
}

extension PixelRegion {
    fileprivate init(_ rect: PixelRect) {
        self.init(x: Double(rect.x), y: Double(rect.y), width: Double(rect.width), height: Double(rect.height))
    }
}

extension Image {
    fileprivate var context: ProcessingContext { ProcessingContext(scale: scale, cancellation: nil) }
}

extension CropProcessor: GeometricProcessor {
    func step(of image: Image, cancellation: Cancellation?) throws(WebImageError) -> GeometricStep? {
        try rect(in: image.context).clamped(to: image.pixels.size).map { .part(PixelRegion($0)) }
    }
}

extension InsetProcessor: GeometricProcessor {
    /// Pixels that are added outside have no gains.
    func step(of image: Image, cancellation: Cancellation?) throws(WebImageError) -> GeometricStep? {
        let rect = try rect(of: image.pixels.size, in: image.context)
        return rect.clamped(to: image.pixels.size) == rect ? .part(PixelRegion(rect)) : nil
    }
}

extension GravityCropProcessor: GeometricProcessor {
    func step(of image: Image, cancellation: Cancellation?) throws(WebImageError) -> GeometricStep? {
        .crop(try rect(of: image, cancellation: cancellation))
    }
}

extension TrimProcessor: GeometricProcessor {
    func step(of image: Image, cancellation: Cancellation?) throws(WebImageError) -> GeometricStep? {
        .crop(try rect(of: image, cancellation: cancellation))
    }
}

extension FlipProcessor: GeometricProcessor {
    func step(of image: Image, cancellation: Cancellation?) throws(WebImageError) -> GeometricStep? {
        .turn(orientation)
    }
}

extension RotateProcessor: GeometricProcessor {
    func step(of image: Image, cancellation: Cancellation?) throws(WebImageError) -> GeometricStep? {
        let swapsSides = quarterTurns?.swapsSides == true
        return keepsSize && swapsSides && image.pixels.width != image.pixels.height
            ? nil : quarterTurns.map { .turn($0) }
    }
}

extension ResizeProcessor: GeometricProcessor {
    func step(of image: Image, cancellation: Cancellation?) throws(WebImageError) -> GeometricStep? {
        switch mode {
        case .stretch, .aspectFit, .aspectFill: return .whole
        case .aspectFillCropped(let focus):
            let (_, region) = filling(try boxSize(in: image.context), image.pixels.size, focus)
            return .part(region)
        case .letterbox:
            let box = try boxSize(in: image.context)
            let size = ResizeMode.aspectFit.size(of: image.pixels.size, in: box, allowsUpscaling: allowsUpscaling)
            return size == box && image.pixels.isOpaque ? .whole : nil
        }
    }
}

extension SharpenProcessor: GeometricProcessor {
    /// Edges are sharper in the image than in its gains, which have fewer pixels anyway.
    func step(of image: Image, cancellation: Cancellation?) throws(WebImageError) -> GeometricStep? { .whole }
}
