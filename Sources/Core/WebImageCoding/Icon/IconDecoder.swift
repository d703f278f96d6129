import FoundationEssentials
import WebImageCore

/// An image in an icon.
struct IconEntry: Sendable {
    /// The size that the file claims; the image may have another.
    var size: PixelSize
    /// The bits of color of a pixel.
    var bitsPerPixel: Int
    var content: Content
    /// The bytes in the file.
    var range: Range<Int>

    enum Content: Sendable {
        /// A complete file of another format, with its decoder.
        case file(any ImageDecoder)
        /// A bitmap without its file header.
        case bitmap
        /// Channels of a macOS icon, with the range of the mask if that is separate.
        case channels(mask: Range<Int>?)
    }
}

/// Decodes icons: the image that suits the requested size, or the one that ``DecodingOptions/page`` names.
protocol IconDecoder: OwnDecoder {
    /// Reads the list of images in the order of the file; not empty.
    ///
    /// - Parameter isPrefix: whether a list that is not complete is an error, because the rest may follow.
    func entries(of data: Data, isPrefix: Bool) throws(WebImageError) -> [IconEntry]
}

extension IconDecoder {
    package func info(of data: Data) throws(WebImageError) -> ImageInfo {
        let entries = try entries(of: data, isPrefix: false)
        let best = entries[IconEntry.best(of: entries, for: nil)]
        var info = ImageInfo(format: format, size: try size(of: best, in: data), hasAlpha: true)
        info.pageCount = entries.count
        return info
    }

    package func probe(_ prefix: Data) throws(WebImageError) -> ImageProbe? {
        do throws(WebImageError) {
            let entries = try entries(of: prefix, isPrefix: true)
            let size = entries[IconEntry.best(of: entries, for: nil)].size
            return ImageProbe(format: format, size: size, hasAlpha: true)
        } catch .decoding(_, .truncated, _) {
            return nil
        }
    }

    package func animation(of data: Data, options: DecodingOptions) throws(WebImageError) -> (any AnimationSource)? {
        nil
    }

    package func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        let entries = try entries(of: data, isPrefix: false)
        var options = options
        if let page = options.page {
            let entry = entries[try format.page(page, of: entries.count)]
            options.page = nil
            return try decode(entry, in: data, options: options)
        }
        // The best may be damaged. Then another whole one is shown, or else its good part.
        var failure: WebImageError?
        for allowsDamage in options.allowsDamage ? [false, true] : [false] {
            options.allowsDamage = allowsDamage
            for index in IconEntry.byFitness(entries, for: options).prefix(IconEntry.attemptLimit) {
                do throws(WebImageError) {
                    return try decode(entries[index], in: data, options: options)
                } catch .decoding(let format, let reason, _) {
                    failure = failure ?? .decoding(format: format, reason: reason)
                }
            }
        }
        throw failure ?? format.corrupt("no image")
    }

    private func decode(_ entry: IconEntry, in data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        // Nothing tells the profile of an image inside.
        var options = options
        options.keepsColors = false
        guard let bytes = data.part(entry.range) else { throw format.truncated }
        var image: Image
        switch entry.content {
        case .file(let decoder): image = try decoder.decode(bytes, options: options)
        case .bitmap: image = try BMPFile(bytes, isIcon: true).image(format, options: options)
        case .channels(let mask):
            let channels = ICNSChannels(bytes, mask: mask.flatMap { data.part($0) }, size: entry.size)
            image = try channels.image(format, options: options)
        }
        image.format = format
        (image.animation, image.frameCount, image.data) = (nil, 1, nil)
        return image
    }

    /// Returns the real size of an entry.
    private func size(of entry: IconEntry, in data: Data) throws(WebImageError) -> PixelSize {
        guard case .file(let decoder) = entry.content, let bytes = data.part(entry.range) else { return entry.size }
        return (try? decoder.info(of: bytes))?.size ?? entry.size
    }
}

extension IconEntry {
    /// How many damaged images are tried before the icon counts as damaged. Thousands can share the same bytes.
    static let attemptLimit = 32

    /// The index of the smallest image with enough pixels for a request, else of the largest.
    static func best(of entries: [IconEntry], for options: DecodingOptions?) -> Int {
        entries.indices.min(by: isFitter(entries, for: options)) ?? 0
    }

    /// The indices of all images, the best one for a request first.
    static func byFitness(_ entries: [IconEntry], for options: DecodingOptions?) -> [Int] {
        entries.indices.sorted(by: isFitter(entries, for: options))
    }

    private static func isFitter(_ entries: [IconEntry], for options: DecodingOptions?) -> (Int, Int) -> Bool {
        let largest = entries.max { $0.size.pixelCount < $1.size.pixelCount }?.size ?? PixelSize(width: 1, height: 1)
        let target = options?.targetSize(of: largest) ?? largest
        func isEnough(_ entry: IconEntry) -> Bool {
            entry.size.width >= target.width && entry.size.height >= target.height
        }
        return { first, second in
            let (one, other) = (entries[first], entries[second])
            if isEnough(one) != isEnough(other) { return isEnough(one) }
            if one.size.pixelCount != other.size.pixelCount {
                return isEnough(one) == (one.size.pixelCount < other.size.pixelCount)
            }
            return one.bitsPerPixel > other.bitsPerPixel
        }
    }
}

extension Data {
    /// Returns a part; offsets count from the beginning. `nil` if it is not all there.
    func part(_ range: Range<Int>) -> Data? {
        guard range.lowerBound >= 0, range.upperBound <= count else { return nil }
        return Data(self[startIndex + range.lowerBound..<startIndex + range.upperBound])
    }
}
