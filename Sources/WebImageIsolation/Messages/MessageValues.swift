internal import FoundationEssentials
package import WebImageCoding
package import WebImageCore

extension PixelSize: MessageValue {
    package func write(to message: inout MessageWriter) {
        message.write(width)
        message.write(height)
    }

    package init(from message: inout MessageReader) throws(InvalidMessage) {
        let width = try message.count(atMost: MutablePixelBuffer.maximumDimension)
        let height = try message.count(atMost: MutablePixelBuffer.maximumDimension)
        guard width > 0, height > 0 else { throw InvalidMessage("an image is empty") }
        self.init(width: width, height: height)
    }
}

extension MessageReader {
    /// Reads a size that a file declares, which is more than any image can have in some damaged files.
    fileprivate mutating func declaredSize() throws(InvalidMessage) -> PixelSize {
        let limit = Int(UInt32.max)
        let (width, height) = (try count(atMost: limit), try count(atMost: limit))
        guard width > 0, height > 0 else { throw InvalidMessage("an image is empty") }
        return PixelSize(width: width, height: height)
    }
}

extension ImageFormat: MessageValue {
    package func write(to message: inout MessageWriter) { message.write(name) }

    package init(from message: inout MessageReader) throws(InvalidMessage) {
        let name = try message.text()
        guard let format = ImageFormat.known.first(where: { $0.name == name }) else {
            throw InvalidMessage("there is no format '\(name.prefix(20))'")
        }
        self = format
    }
}

extension ImageInfo: MessageValue {
    package func write(to message: inout MessageWriter) {
        message.write(format)
        message.write(size)
        message.write(frameCount)
        message.write(pageCount)
        message.write(loopCount) { $0.write($1) }
        // The durations are those of an animation's description.
        message.write(
            frameDurations.isEmpty
                ? nil
                : AnimationDescription(
                    frameSize: PixelSize(width: 1, height: 1),
                    frames: frameDurations.map { AnimationFrame(duration: $0, isKeyframe: false) },
                    loopCount: 0, isComplete: true)
        ) { $0.write($1) }
        message.write(hasAlpha)
        message.write(orientation.rawValue)
        message.write(hasColorProfile)
        message.write(colorProfileName) { $0.write(String($1.prefix(200))) }
        message.write(bitDepth)
        message.write(isHDR)
        message.write(hasGainMap)
    }

    package init(from message: inout MessageReader) throws(InvalidMessage) {
        let (format, size): (ImageFormat, PixelSize) = (try message.value(), try message.declaredSize())
        let frameCount = try message.count(atMost: 1 << 30)
        let pageCount = try message.count(atMost: 1 << 30)
        let loopCount = try message.optional { (message) throws(InvalidMessage) in
            try message.count(atMost: Int(Int32.max))
        }
        let animation: AnimationDescription? = try message.optionalValue()
        let hasAlpha = try message.bool()
        guard let orientation = ImageOrientation(rawValue: try message.int()) else {
            throw InvalidMessage("there is no such orientation")
        }
        let hasProfile = try message.bool()
        let name = try message.optional { (message) throws(InvalidMessage) in try message.text() }
        self.init(
            format: format, size: size, frameCount: frameCount, loopCount: loopCount,
            frameDurations: animation?.frames.map(\.duration) ?? [], hasAlpha: hasAlpha, orientation: orientation,
            hasColorProfile: hasProfile, colorProfileName: name)
        self.pageCount = pageCount
        bitDepth = try message.count(atMost: Int(UInt16.max))
        isHDR = try message.bool()
        hasGainMap = try message.bool()
    }
}

extension ImageProbe: MessageValue {
    package func write(to message: inout MessageWriter) {
        message.write(format)
        message.write(size)
        message.write(orientation.rawValue)
        message.write(isAnimated) { $0.write($1) }
        message.write(hasAlpha)
    }

    package init(from message: inout MessageReader) throws(InvalidMessage) {
        let (format, size): (ImageFormat, PixelSize) = (try message.value(), try message.declaredSize())
        guard let orientation = ImageOrientation(rawValue: try message.int()) else {
            throw InvalidMessage("there is no such orientation")
        }
        let isAnimated = try message.optional { (message) throws(InvalidMessage) in try message.bool() }
        self.init(
            format: format, size: size, orientation: orientation, isAnimated: isAnimated,
            hasAlpha: try message.bool())
    }
}

extension Thumbnail: MessageValue {
    package func write(to message: inout MessageWriter) {
        message.write(size.width)
        message.write(size.height)
        message.write(mode.name)
    }

    package init(from message: inout MessageReader) throws(InvalidMessage) {
        let (width, height) = (try message.length(), try message.length())
        let name = try message.text()
        guard let mode = ResizeMode.allCases.first(where: { $0.name == name }) else {
            throw InvalidMessage("there is no mode of that name")
        }
        self.init(.pixels(width: width, height: height), mode: mode)
    }
}

extension DecodingLimits: MessageValue {
    package func write(to message: inout MessageWriter) {
        for value in [pixelCount, scanCount, frameCount, animationByteCount, metadataByteCount, memoryByteCount] {
            message.write(value)
        }
        message.write(seconds) { $0.write($1) }
    }

    package init(from message: inout MessageReader) throws(InvalidMessage) {
        self.init(
            pixelCount: try message.int(), scanCount: try message.int(), frameCount: try message.int(),
            animationByteCount: try message.int(), metadataByteCount: try message.int(),
            memoryByteCount: try message.int(),
            seconds: try message.optional { (message) throws(InvalidMessage) in try message.double() })
    }
}

extension DecodingOptions: MessageValue {
    /// Without what belongs to one process: the cancellation, the budget, an animation's identity.
    package func write(to message: inout MessageWriter) {
        message.write(thumbnail) { $0.write($1) }
        message.write(page) { $0.write($1) }
        message.write(byteLimit) { $0.write($1) }
        message.write(scale)
        message.write(firstFrameOnly)
        message.write(allowsDamage)
        message.write(limits)
    }

    package init(from message: inout MessageReader) throws(InvalidMessage) {
        let thumbnail: Thumbnail? = try message.optionalValue()
        let page = try message.optional { (message) throws(InvalidMessage) in try message.int() }
        let byteLimit = try message.optional { (message) throws(InvalidMessage) in try message.int() }
        self.init(
            thumbnail: thumbnail, byteLimit: byteLimit, scale: try message.double(),
            firstFrameOnly: try message.bool(), allowsDamage: try message.bool(), limits: try message.value())
        self.page = page
    }
}

extension EncodingOptions: MessageValue {
    /// Without the cancellation, and without what ``CodecRegistry`` does itself: bounds and a limit on bytes.
    package func write(to message: inout MessageWriter) {
        for value in [quality, background.red, background.green, background.blue, background.alpha, alphaQuality] {
            message.write(value)
        }
        for value in [isProgressive, isLossless, writesColorProfile, optimizesHuffmanCodes, framing == .whole] {
            message.write(value)
        }
        for value in [pngLevel, webPEffort, speed, colorLimit] { message.write(value) }
        for value in [chroma.rawValue, pngFilter.rawValue, dithering.rawValue, palette.rawValue] {
            message.write(value)
        }
        message.write(iconSides.count)
        for side in iconSides { message.write(side) }
        message.write(metadata) { message, metadata in
            message.write(metadata.exif) { $0.write(bytes: $1) }
            message.write(metadata.xmp) { $0.write(bytes: $1) }
        }
    }

    package init(from message: inout MessageReader) throws(InvalidMessage) {
        self.init(quality: try message.double())
        background = Color(
            red: try message.double(), green: try message.double(), blue: try message.double(),
            alpha: try message.double())
        alphaQuality = try message.double()
        isProgressive = try message.bool()
        isLossless = try message.bool()
        writesColorProfile = try message.bool()
        optimizesHuffmanCodes = try message.bool()
        framing = try message.bool() ? .whole : .changes
        pngLevel = try message.int()
        webPEffort = try message.int()
        speed = try message.int()
        colorLimit = try message.int()
        chroma = try message.choice()
        pngFilter = try message.choice()
        dithering = try message.choice()
        palette = try message.choice()
        for _ in 0..<(try message.count(atMost: 256)) { iconSides.append(try message.int()) }
        metadata = try message.optional { (message) throws(InvalidMessage) in
            let exif = try message.optional { (message) throws(InvalidMessage) in Data(try message.content()) }
            let xmp = try message.optional { (message) throws(InvalidMessage) in Data(try message.content()) }
            return ImageMetadata(exif: exif, xmp: xmp)
        }
    }
}

extension MessageReader {
    fileprivate mutating func choice<Choice: RawRepresentable<String>>() throws(InvalidMessage) -> Choice {
        guard let choice = Choice(rawValue: try text()) else { throw InvalidMessage("there is no such choice") }
        return choice
    }
}
