import FoundationEssentials
import WebImageGTK

/// The facts in the header of an image file.
enum FileFacts {
    /// Reads them from the bytes of a file, without decoding it.
    static func groups(of data: Data, codecs: CodecRegistry = .shared) -> [FactGroup] {
        let properties: ImageProperties
        do throws(WebImageError) { properties = try codecs.properties(of: data, limits: .ownFiles) } catch {
            let fact = Fact(localized("Format"), error.sentence(in: texts))
            return [
                FactGroup(title: localized("File"), facts: [fact, Fact(localized("Size"), Amount.bytes(data.count))])
            ]
        }
        let info = properties.info
        var groups = [
            FactGroup(
                title: localized("File"),
                facts: file(info, try? codecs.colorProfile(of: data, limits: .ownFiles), byteCount: data.count))
        ]
        if info.frameCount > 1 || info.loopCount != nil { groups.append(animation(info)) }
        if let xmp = properties.metadata.xmp { groups[0].facts.append(Fact("XMP", Amount.bytes(xmp.count))) }
        if let photograph = properties.exif.flatMap(photograph) {
            groups.insert(photograph, at: 0)
        }
        return groups
    }

    private static func file(_ info: ImageInfo, _ profile: ColorProfile?, byteCount: Int) -> [Fact] {
        // A header may tell any size, and its product may exceed an Int.
        let (size, pixelCount) = (info.size, Double(info.size.width) * Double(info.size.height))
        var facts = [
            Fact(localized("Format"), "\(info.format.title) (\(info.format.mimeType))"),
            Fact(
                localized("Pixels"),
                localized(
                    "{width} × {height}, {amount} megapixels",
                    ["width": size.width, "height": size.height, "amount": Amount.decimal(pixelCount / 1e6)])),
            Fact(localized("Bytes"), Amount.bytes(byteCount)),
        ]
        if pixelCount > 0 {
            let bits = Double(byteCount) * 8 / (pixelCount * Double(max(1, info.frameCount)))
            facts.append(Fact(localized("Bits per pixel"), Amount.decimal(bits)))
        }
        let depth = ["bits": info.bitDepth]
        facts.append(
            Fact(
                localized("Depth"),
                info.hasAlpha
                    ? localized("{bits} bits per channel, with alpha", depth)
                    : localized("{bits} bits per channel", depth)))
        facts.append(Fact(localized("Color profile"), profileText(info, profile)))
        facts.append(Fact("HDR", hdr(info)))
        if info.orientation != .up { facts.append(Fact(localized("Orientation"), info.orientation.words)) }
        if info.pageCount > 1 {
            facts.append(
                Fact(localized("Images"), localized("{count}, the largest is shown", ["count": info.pageCount])))
        }
        return facts
    }

    /// The name and the space of the profile.
    private static func profileText(_ info: ImageInfo, _ profile: ColorProfile?) -> String {
        guard info.hasColorProfile else { return localized("None; sRGB is assumed") }
        return (info.colorProfileName ?? localized("Unnamed")) + (profile.map { " (\($0.model.name))" } ?? "")
    }

    private static func hdr(_ info: ImageInfo) -> String {
        switch (info.isHDR, info.hasGainMap) {
        case (true, _): localized("PQ or HLG, mapped to standard range")
        case (false, true): localized("Gain map; the base image is shown")
        case (false, false): localized("No")
        }
    }

    private static func animation(_ info: ImageInfo) -> FactGroup {
        let duration = info.duration / .seconds(1)
        var facts = [Fact(localized("Frames"), "\(info.frameCount)")]
        if let loopCount = info.loopCount {
            facts.append(
                Fact(
                    localized("Plays"),
                    loopCount == 0 ? localized("Forever") : counted("{count} time", "{count} times", count: loopCount)))
        }
        if duration > 0 {
            facts.append(Fact(localized("Duration"), Amount.duration(duration)))
            facts.append(Fact(localized("Frames per second"), Amount.decimal(Double(info.frameCount) / duration)))
        }
        return FactGroup(title: localized("Animation"), facts: facts)
    }

    /// `nil` without any fact.
    private static func photograph(_ exif: EXIFFields) -> FactGroup? {
        var facts: [Fact] = []
        func add(_ title: String, _ value: String?) { if let value { facts.append(Fact(title, value)) } }
        add(localized("Camera"), exif.camera)
        add(localized("Lens"), exif.lens)
        add(localized("Exposure"), exposure(exif))
        add(
            localized("Focal length"),
            exif.focalLengthInMillimeters.map { length in
                let text = Amount.decimal(length)
                return exif.focalLengthOnFilmInMillimeters.map {
                    localized("{length} mm ({film} mm on 35 mm film)", ["length": text, "film": $0])
                } ?? localized("{length} mm", ["length": text])
            })
        add(localized("Taken"), exif.date.map(DateText.text))
        add(localized("Software"), exif.software)
        guard !facts.isEmpty || exif.hasLocation else { return nil }
        facts.append(Fact(localized("Place"), place(exif)))
        return FactGroup(title: photographTitle, facts: facts)
    }

    /// The title of the group with what a camera noted.
    static let photographTitle = localized("Photograph")

    /// Such as `46.5583° N, 7.9808° E`.
    private static func place(_ exif: EXIFFields) -> String {
        guard exif.hasLocation else { return localized("Not in the file") }
        guard let place = exif.coordinates else { return localized("The file has GPS coordinates that cannot be read") }
        let angles = ["latitude": Amount.degrees(place.latitude), "longitude": Amount.degrees(place.longitude)]
        return switch (place.latitude < 0, place.longitude < 0) {
        case (false, false): localized("{latitude} N, {longitude} E", angles)
        case (false, true): localized("{latitude} N, {longitude} W", angles)
        case (true, false): localized("{latitude} S, {longitude} E", angles)
        case (true, true): localized("{latitude} S, {longitude} W", angles)
        }
    }

    /// Such as `1/250 s, f/2.8, ISO 100`.
    private static func exposure(_ exif: EXIFFields) -> String? {
        var parts: [String] = []
        if let time = exif.exposureTime.map({ $0 / .seconds(1) }) {
            parts.append(time < 0.3 ? "1/\(Int((1 / time).rounded())) s" : "\(Amount.decimal(time)) s")
        }
        if let aperture = exif.aperture { parts.append("f/\(Amount.decimal(aperture))") }
        if let sensitivity = exif.isoSensitivity { parts.append("ISO \(sensitivity)") }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }
}

extension ImageOrientation {
    /// The change of the stored pixels that shows them upright.
    fileprivate var words: String {
        switch self {
        case .up: localized("Upright")
        case .upMirrored: localized("Mirrored")
        case .down: localized("Turned by 180°")
        case .downMirrored: localized("Mirrored and turned by 180°")
        case .leftMirrored: localized("Mirrored and turned left")
        case .right: localized("Turned right")
        case .rightMirrored: localized("Mirrored and turned right")
        case .left: localized("Turned left")
        }
    }
}
