internal import WebImage
internal import WebImageCore
internal import WebImageProcessing

/// The declarations of the options for the part of an image and its size. Regardless of their order, the part is cut out
/// first, then the border is removed, then the rest is scaled.
struct SizeOptions {
    /// The decoding and processing that the options request.
    struct Request: Sendable {
        /// The size to decode at; `nil` for all pixels.
        var thumbnail: Thumbnail?
        /// The steps after decoding.
        var processors: [ImageProcessor] = []
        /// Whether `--size`, which was not given, would reduce the memory of decoding.
        var canDecodeSmaller = false

        /// Whether the image differs from the original.
        var changesImage: Bool { thumbnail != nil || !processors.isEmpty }

        /// Only what decoding does.
        var decoding: Request { Request(thumbnail: thumbnail) }

        /// Returns the same, followed by other processors.
        func adding(_ others: [ImageProcessor]) -> Request {
            Request(thumbnail: thumbnail, processors: processors + others, canDecodeSmaller: canDecodeSmaller)
        }
    }

    private enum Part {
        case rect(PixelRect)
        case size(PixelSize)
        case proportions(Double, Double)

        /// Whether the size is in pixels of the original.
        var hasOwnSize: Bool {
            if case .proportions = self { return false }
            return true
        }

        /// Whether the gravity says where the part is.
        var hasGravity: Bool {
            if case .rect = self { return false }
            return true
        }
    }

    private let size, mode, crop, gravity, focus: OptionParser.Option
    private let enlarge, trim: OptionParser.Flag

    init(in parser: OptionParser) {
        size = parser.option(
            "size", value: "N|WxH",
            help: "Scale into a box of N pixels (or 640x480, or 640x or x480 for one side)")
        mode = parser.option(
            "mode", words: ["fit", "fill", "stretch"],
            help: "Fit the whole image into the box (default), fill the box and crop the rest, or distort")
        enlarge = parser.flag("enlarge", help: "Enlarge images that are smaller than the box")
        crop = parser.option(
            "crop", value: "WxH[+X+Y]|W:H",
            help:
                "Cut out W by H pixels of the original, at X, Y or by --gravity, or the largest part with proportions W:H"
        )
        gravity = parser.option(
            "gravity", value: "PLACE", completion: .words(Gravity.allCases.map(\.rawValue)),
            help:
                "The part that --crop and --mode fill keep: center (default), north, northeast and so on, or smart, what people look at"
        )
        focus = parser.option(
            "focus", value: "X,Y",
            help:
                "The point that --mode fill keeps in the center: 0,0 is that of the image, -1,-1 its lower left, 1,1 its upper right"
        )
        trim = parser.flag("trim", help: "Remove the border that has the color of the top left pixel")
    }

    /// - Parameter defaultBox: the size without `--size`.
    func request(from parser: OptionParser, defaultBox: PixelSize? = nil) throws(ArgumentError) -> Request {
        let box = try box(from: parser) ?? defaultBox
        let resizeMode = try resizeMode(from: parser)
        if box == nil, resizeMode != nil { throw parser.error("--mode needs --size") }
        if box == nil, enlarge.isSet { throw parser.error("--enlarge needs --size") }
        let part = try part(from: parser)
        let fills = resizeMode == .aspectFill && box.map { $0.width > 0 && $0.height > 0 } == true
        let gravity: Gravity? = try parser.choice(self.gravity)
        if gravity != nil, !fills, part?.hasGravity != true {
            throw parser.error(
                part == nil
                    ? "--gravity needs --crop, or --mode fill with --size WxH"
                    : "--gravity is for a --crop without +X+Y")
        }
        let focus = try focalPoint(from: parser)
        if focus != nil, !fills { throw parser.error("--focus needs --mode fill with --size WxH") }
        if focus != nil, gravity != nil, part?.hasGravity != true {
            throw parser.error("--focus and --gravity cannot be used together")
        }
        let placement: Placement? = fills ? focus.map(Placement.focus) ?? .gravity(gravity ?? .center) : nil
        return request(
            part: part, box: box, mode: resizeMode ?? .aspectFit, gravity: gravity ?? .center, filling: placement)
    }

    /// What is kept of an image that fills its box.
    private enum Placement {
        case gravity(Gravity)
        case focus(FocalPoint)
    }

    private func request(
        part: Part?, box: PixelSize?, mode: ResizeMode, gravity: Gravity, filling: Placement?
    ) -> Request {
        var request = Request()
        /// A sufficient size of an image of which a part with proportions is kept.
        var covered: PixelSize?
        switch part {
        case nil: break
        case .rect(let rect): request.processors.append(.crop(toPixels: rect))
        case .size(let size): request.processors.append(.crop(to: size, gravity: gravity))
        case .proportions(var width, var height):
            if let box, !trim.isSet {
                covered = Self.size(ofProportions: width / height, in: box, covers: mode != .aspectFit)
            }
            // The part then has exactly this size.
            if let covered { (width, height) = (Double(covered.width), Double(covered.height)) }
            request.processors.append(.crop(toProportions: width, height, gravity: gravity))
        }
        if trim.isSet { request.processors.append(.trim()) }
        // Decoding at the size takes a fraction of the time and memory, but only of whole images, or of parts whose size
        // can be told without that of the image.
        guard let box else {
            request.canDecodeSmaller = !trim.isSet && part?.hasOwnSize != true
            return request
        }
        let decodesAtSize = request.processors.isEmpty
        let target = TargetSize.pixels(
            width: box.width > 0 ? box.width : nil, height: box.height > 0 ? box.height : nil)
        if decodesAtSize { request.thumbnail = Thumbnail(target, mode: mode) }
        if let covered {
            request.thumbnail = Thumbnail(
                .pixels(width: covered.width, height: covered.height), mode: .aspectFill)
        }
        if case .focus(let focus) = filling {
            request.processors.append(.resize(toFill: target, focus: focus, allowsUpscaling: enlarge.isSet))
            return request
        }
        if !decodesAtSize || enlarge.isSet {
            request.processors.append(.resize(to: target, mode: mode, allowsUpscaling: enlarge.isSet))
        }
        if case .gravity(let gravity) = filling { request.processors.append(.crop(to: box, gravity: gravity)) }
        return request
    }

    /// The size of a part with these proportions that fits into a box, or covers it; `nil` if it is too large.
    private static func size(ofProportions ratio: Double, in box: PixelSize, covers: Bool) -> PixelSize? {
        let (width, height) = (Double(box.width), Double(box.height))
        let isWide = height == 0 || width > 0 && (ratio >= width / height) != covers
        let sides = isWide ? (width, width / ratio) : (height * ratio, height)
        let lengths = [sides.0, sides.1].map { max(1, $0.rounded()) }
        guard lengths.allSatisfy({ $0 <= Double(PixelSize.maximumDimension) }) else { return nil }
        return PixelSize(width: Int(lengths[0]), height: Int(lengths[1]))
    }

    /// The size of a cell: that of `--size`, which has both sides.
    func cell(from parser: OptionParser) throws(ArgumentError) -> PixelSize? {
        guard let box = try box(from: parser) else { return nil }
        guard box.width > 0, box.height > 0 else { throw parser.error("--size takes N or WxH here, not one side") }
        return box
    }

    /// The box of `--size`; a side of 0 has no limit.
    private func box(from parser: OptionParser) throws(ArgumentError) -> PixelSize? {
        guard let text = size.value else { return nil }
        var sides = text.split(separator: "x", omittingEmptySubsequences: false)
        if sides.count == 1 { sides.append(sides[0]) }
        let lengths = sides.map { $0.isEmpty ? 0 : Int($0) ?? -1 }
        let maximum = PixelSize.maximumDimension
        guard lengths.count == 2, lengths != [0, 0], lengths.allSatisfy({ (0...maximum).contains($0) }) else {
            throw parser.error(
                "--size takes N or WIDTHxHEIGHT in pixels (or WIDTHx, or xHEIGHT), each at most \(maximum), not '\(text)'"
            )
        }
        return PixelSize(width: lengths[0], height: lengths[1])
    }

    private func focalPoint(from parser: OptionParser) throws(ArgumentError) -> FocalPoint? {
        guard let text = focus.value else { return nil }
        let numbers = text.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) ?? .nan }
        guard numbers.count == 2, numbers.allSatisfy((-1...1).contains) else {
            throw parser.error("--focus takes X,Y from -1 to 1, such as -0.4,0.6, not '\(text)'")
        }
        return FocalPoint(x: numbers[0], y: numbers[1])
    }

    private func resizeMode(from parser: OptionParser) throws(ArgumentError) -> ResizeMode? {
        switch mode.value {
        case nil: nil
        case "fit": .aspectFit
        case "fill": .aspectFill
        case "stretch": .stretch
        case let other?: throw parser.error("--mode takes fit, fill or stretch, not '\(other)'")
        }
    }

    private func part(from parser: OptionParser) throws(ArgumentError) -> Part? {
        guard let text = crop.value else { return nil }
        if let match = text.wholeMatch(of: /([0-9]{1,5})x([0-9]{1,5})(?:\+([0-9]{1,5})\+([0-9]{1,5}))?/),
            let width = Int(match.1), let height = Int(match.2), width > 0, height > 0
        {
            guard let x = match.3.flatMap({ Int($0) }), let y = match.4.flatMap({ Int($0) }) else {
                return .size(PixelSize(width: width, height: height))
            }
            return .rect(PixelRect(x: x, y: y, width: width, height: height))
        }
        if let match = text.wholeMatch(of: /([0-9.]{1,8}):([0-9.]{1,8})/), let width = Double(match.1),
            let height = Double(match.2), width > 0, height > 0
        {
            return .proportions(width, height)
        }
        throw parser.error("--crop takes WxH+X+Y or WxH in pixels, or proportions such as 16:9, not '\(text)'")
    }
}
