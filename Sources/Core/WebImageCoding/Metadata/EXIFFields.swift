public import FoundationEssentials
public import WebImageCore

/// The fields of EXIF about how a photograph was taken (CIPA DC-008). Every value is as the file has it, and `nil` if it is
/// missing or invalid, or if a number that must be positive is 0: many cameras write that for a value that they do not
/// know.
///
/// ```swift
/// let fields = try CodecRegistry.shared.metadata(of: data).exifFields
/// if let fields {
///     print(fields.camera ?? "", fields.exposureTime ?? .zero, fields.aperture ?? 0, fields.date?.moment ?? .distantPast)
/// }
/// ```
///
/// ``ImageProperties/exif`` has them beside all else that is known of a file.
public struct EXIFFields: Sendable, Hashable {
    /// The maker of the camera.
    public var cameraMake: String?
    /// The model of the camera.
    public var cameraModel: String?
    /// The maker of the lens.
    public var lensMake: String?
    /// The model of the lens.
    public var lensModel: String?
    /// When the photograph was taken, or else when the file was changed, in the camera's time.
    public var date: DateTime?
    /// The exposure time.
    public var exposureTime: Duration?
    /// The aperture as its f-number: 2.8 for f/2.8.
    public var aperture: Double?
    /// The sensitivity, as ISO.
    public var isoSensitivity: Int?
    /// The focal length, in millimeters.
    public var focalLengthInMillimeters: Double?
    /// The focal length with the same view on a 35 mm film, in millimeters.
    public var focalLengthOnFilmInMillimeters: Int?
    /// The program that wrote the file, or the camera's.
    public var software: String?
    /// The orientation of the stored pixels.
    public var orientation: ImageOrientation?
    /// Whether the place is in the file.
    public var hasLocation = false
    /// The place; `nil` if it is not in the file or invalid.
    public var coordinates: Coordinates?

    /// The make and the model of the camera. Many models begin with their make, which is not repeated.
    public var camera: String? {
        guard let cameraMake, let cameraModel else { return cameraModel ?? cameraMake }
        return cameraModel.hasPrefix(cameraMake) ? cameraModel : "\(cameraMake) \(cameraModel)"
    }
    /// The model of the lens, or else its make.
    public var lens: String? { lensModel ?? lensMake }

    /// A place on Earth.
    public struct Coordinates: Sendable, Hashable {
        /// In degrees, from -90 to 90; north is positive.
        public let latitude: Double
        /// In degrees, from -180 to 180; east is positive.
        public let longitude: Double
        /// The height above the sea, negative below it; `nil` if the file does not have it.
        public var altitudeInMeters: Double?
    }

    /// Reads the TIFF structure in ``ImageMetadata/exif``; `nil` without a TIFF header.
    public init?(_ exif: Data) {
        let bytes = [UInt8](exif)
        guard let layout = TIFFLayout(bytes.span.bytes) else { return nil }
        let main = Directory(bytes: bytes, layout: layout, offset: layout.firstDirectory)
        (cameraMake, cameraModel) = (main.text(Tag.make), main.text(Tag.model))
        software = main.text(Tag.software)
        orientation = main.integer(TIFFTag.orientation).flatMap { ImageOrientation(rawValue: $0) }
        if let gps = main.child(TIFFTag.gps), gps.has(Tag.latitude), gps.has(Tag.longitude) {
            hasLocation = true
            coordinates = gps.coordinates
        }
        let details = main.child(TIFFTag.exif)
        date =
            DateTime(
                details?.text(Tag.originalDate), fraction: details?.text(Tag.originalFraction),
                offset: details?.text(Tag.originalOffset))
            ?? DateTime(
                main.text(Tag.date), fraction: details?.text(Tag.fraction), offset: details?.text(Tag.offset))
        guard let details else { return }
        (lensMake, lensModel) = (details.text(Tag.lensMake), details.text(Tag.lensModel))
        exposureTime = Self.positive(details.duration(Tag.exposureTime))
        aperture = Self.positive(details.fraction(Tag.aperture))
        isoSensitivity = Self.positive(details.integer(Tag.sensitivity))
        focalLengthInMillimeters = Self.positive(details.fraction(Tag.focalLength))
        focalLengthOnFilmInMillimeters = Self.positive(details.integer(Tag.focalLengthOnFilm))
    }

    private static func positive<Number: AdditiveArithmetic & Comparable>(_ number: Number?) -> Number? {
        number.flatMap { $0 > .zero ? $0 : nil }
    }

    private enum Tag {
        static let make = 0x010F
        static let model = 0x0110
        static let software = 0x0131
        static let date = 0x0132
        static let exposureTime = 0x829A
        static let aperture = 0x829D
        static let sensitivity = 0x8827
        static let originalDate = 0x9003
        static let offset = 0x9010
        static let originalOffset = 0x9011
        static let focalLength = 0x920A
        static let fraction = 0x9290
        static let originalFraction = 0x9291
        static let focalLengthOnFilm = 0xA405
        static let lensMake = 0xA433
        static let lensModel = 0xA434
        static let latitudeReference = 0x0001
        static let latitude = 0x0002
        static let longitudeReference = 0x0003
        static let longitude = 0x0004
        static let altitudeReference = 0x0005
        static let altitude = 0x0006
    }

    private struct Directory {
        let bytes: [UInt8]
        let layout: TIFFLayout
        let offset: Int

        private func entry(_ tag: Int) -> TIFFLayout.Entry? {
            layout.entry(tag, inDirectoryAt: offset, of: bytes.span.bytes)
        }

        func has(_ tag: Int) -> Bool { entry(tag) != nil }

        func child(_ tag: Int) -> Directory? {
            entry(tag).flatMap { layout.target(of: $0, in: bytes.span.bytes) }.map {
                Directory(bytes: bytes, layout: layout, offset: $0)
            }
        }

        func integer(_ tag: Int) -> Int? { entry(tag).flatMap { layout.integer($0, in: bytes.span.bytes) } }

        /// An ASCII text without the padding of its end; `nil` if nothing is left.
        func text(_ tag: Int) -> String? {
            guard let entry = entry(tag), entry.type == 2 else { return nil }
            let text = String(decoding: bytes[entry.value].prefix { $0 != 0 }, as: UTF8.self)
            // A file must not control the direction or the layout of a window's text.
            let shown = text.unicodeScalars.filter { ![.control, .format].contains($0.properties.generalCategory) }
            let words = String(String.UnicodeScalarView(shown)).split(separator: " ")
            return words.isEmpty ? nil : String(words.joined(separator: " ").prefix(128))
        }

        /// A fraction, the one at an index if there are several; `nil` for a denominator of 0, and for a negative fraction.
        func fraction(_ tag: Int, at index: Int = 0) -> Double? {
            parts(tag, at: index).map { Double($0.numerator) / Double($0.denominator) }
        }

        /// The same as a time in seconds.
        func duration(_ tag: Int) -> Duration? {
            parts(tag, at: 0).map { Duration.seconds($0.numerator) / $0.denominator }
        }

        /// Fractions are unsigned by EXIF, but some cameras write signed ones.
        private func parts(_ tag: Int, at index: Int) -> (numerator: Int, denominator: Int)? {
            guard let entry = entry(tag), entry.type == 5 || entry.type == 10, entry.count > index else { return nil }
            func number(at offset: Int) -> Int? {
                layout.integer(at: offset, count: 4, in: bytes.span.bytes).map {
                    entry.type == 10 ? Int(Int32(truncatingIfNeeded: $0)) : $0
                }
            }
            let start = entry.value.lowerBound + index * 8
            guard let numerator = number(at: start), let denominator = number(at: start + 4), denominator != 0,
                numerator == 0 || (numerator > 0) == (denominator > 0)
            else { return nil }
            return (abs(numerator), abs(denominator))
        }

        /// The place in a directory of GPS values.
        var coordinates: Coordinates? {
            guard let latitude = angle(Tag.latitude, Tag.latitudeReference, signs: ["N": 1, "S": -1], limit: 90),
                let longitude = angle(Tag.longitude, Tag.longitudeReference, signs: ["E": 1, "W": -1], limit: 180)
            else { return nil }
            return Coordinates(latitude: latitude, longitude: longitude, altitudeInMeters: altitude)
        }

        /// The height in meters. References of 1 and 3 are below the sea, and below the ellipsoid.
        private var altitude: Double? {
            let isBelow = [1, 3].contains(integer(Tag.altitudeReference))
            return fraction(Tag.altitude).map { isBelow ? -$0 : $0 }
        }

        /// Degrees, minutes and seconds, or fewer of them, as degrees.
        ///
        /// - Parameter signs: by the text of the value `reference`.
        private func angle(_ tag: Int, _ reference: Int, signs: [String: Double], limit: Double) -> Double? {
            guard let count = entry(tag)?.count, (1...3).contains(count),
                let sign = text(reference).flatMap({ signs[$0.uppercased()] })
            else { return nil }
            var angle = 0.0
            for (index, unit) in [1.0, 60, 3_600].prefix(count).enumerated() {
                guard let part = fraction(tag, at: index) else { return nil }
                angle += part / unit
            }
            return angle <= limit ? sign * angle : nil
        }
    }
}
