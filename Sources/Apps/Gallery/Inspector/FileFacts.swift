import FoundationEssentials
import WebImageGTK

/// The facts in the header of an image file.
enum FileFacts {
    /// Reads them from the bytes of a file, without decoding it.
    static func groups(of data: Data, codecs: CodecRegistry = .shared) -> [FactGroup] {
        let properties: ImageProperties
        do throws(WebImageError) { properties = try codecs.properties(of: data, limits: .ownFiles) } catch {
            let fact = Fact("Format", error.errorDescription ?? error.description)
            return [FactGroup(title: "File", facts: [fact, Fact("Size", Amount.bytes(data.count))])]
        }
        let info = properties.info
        var groups = [
            FactGroup(
                title: "File",
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
            Fact("Format", "\(info.format.title) (\(info.format.mimeType))"),
            Fact("Pixels", "\(size.width) × \(size.height), \(Amount.decimal(pixelCount / 1e6)) megapixels"),
            Fact("Bytes", Amount.bytes(byteCount)),
        ]
        if pixelCount > 0 {
            let bits = Double(byteCount) * 8 / (pixelCount * Double(max(1, info.frameCount)))
            facts.append(Fact("Bits per pixel", Amount.decimal(bits)))
        }
        facts.append(Fact("Depth", "\(info.bitDepth) bits per channel\(info.hasAlpha ? ", with alpha" : "")"))
        facts.append(Fact("Color profile", profileText(info, profile)))
        facts.append(Fact("HDR", hdr(info)))
        if info.orientation != .up { facts.append(Fact("Orientation", info.orientation.words)) }
        if info.pageCount > 1 { facts.append(Fact("Images", "\(info.pageCount), the largest is shown")) }
        return facts
    }

    /// The name and the space of the profile.
    private static func profileText(_ info: ImageInfo, _ profile: ColorProfile?) -> String {
        guard info.hasColorProfile else { return "None; sRGB is assumed" }
        return (info.colorProfileName ?? "Unnamed") + (profile.map { " (\($0.model.name))" } ?? "")
    }

    private static func hdr(_ info: ImageInfo) -> String {
        switch (info.isHDR, info.hasGainMap) {
        case (true, _): "PQ or HLG, mapped to standard range"
        case (false, true): "Gain map; the base image is shown"
        case (false, false): "No"
        }
    }

    private static func animation(_ info: ImageInfo) -> FactGroup {
        let duration = info.duration / .seconds(1)
        var facts = [Fact("Frames", "\(info.frameCount)")]
        if let loopCount = info.loopCount {
            facts.append(Fact("Plays", loopCount == 0 ? "Forever" : Amount.counted(loopCount, "time", "times")))
        }
        if duration > 0 {
            facts.append(Fact("Duration", Amount.duration(duration)))
            facts.append(Fact("Frames per second", Amount.decimal(Double(info.frameCount) / duration)))
        }
        return FactGroup(title: "Animation", facts: facts)
    }

    /// `nil` without any fact.
    private static func photograph(_ exif: EXIFFields) -> FactGroup? {
        var facts: [Fact] = []
        func add(_ title: String, _ value: String?) { if let value { facts.append(Fact(title, value)) } }
        add("Camera", exif.camera)
        add("Lens", exif.lens)
        add("Exposure", exposure(exif))
        add(
            "Focal length",
            exif.focalLengthInMillimeters.map { length in
                "\(Amount.decimal(length)) mm"
                    + (exif.focalLengthOnFilmInMillimeters.map { " (\($0) mm on 35 mm film)" } ?? "")
            })
        add("Taken", exif.date?.description)
        add("Software", exif.software)
        guard !facts.isEmpty || exif.hasLocation else { return nil }
        facts.append(Fact("Place", place(exif)))
        return FactGroup(title: photographTitle, facts: facts)
    }

    /// The title of the group with what a camera noted.
    static let photographTitle = "Photograph"

    /// Such as `46.5583° N, 7.9808° E`.
    private static func place(_ exif: EXIFFields) -> String {
        guard exif.hasLocation else { return "Not in the file" }
        guard let place = exif.coordinates else { return "The file has GPS coordinates that cannot be read" }
        return "\(Amount.degrees(place.latitude)) \(place.latitude < 0 ? "S" : "N"), "
            + "\(Amount.degrees(place.longitude)) \(place.longitude < 0 ? "W" : "E")"
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
        case .up: "Upright"
        case .upMirrored: "Mirrored"
        case .down: "Turned by 180°"
        case .downMirrored: "Mirrored and turned by 180°"
        case .leftMirrored: "Mirrored and turned left"
        case .right: "Turned right"
        case .rightMirrored: "Mirrored and turned right"
        case .left: "Turned left"
        }
    }
}
