import CodingTestSupport
import FoundationEssentials
import WebImageCaching
import WebImageCoding
public import WebImageCore
import WebImageFormats

/// Runs ``DecoderExercise`` on what libFuzzer made, and stops the program at a fault.
public func exercise(_ format: ImageFormat, with bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard let decoder = CodecRegistry.builtInDecoders().first(where: { $0.format == format }) else {
        fatalError("no decoder for \(format.name)")
    }
    var exercise = DecoderExercise(decoder, input: data(bytes, count))
    exercise.run()
    if !exercise.faults.isEmpty { fatalError(exercise.faults.joined(separator: "; ")) }
    return 0
}

/// Asks about growing beginnings of what libFuzzer made: an answer must stay.
public func exerciseProbe(with bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = data(bytes, count)
    probe(input, with: builtIn)
    _ = try? builtIn.metadata(of: input)
    findGainMap(in: input, with: builtIn)
    if case .jpeg(let thumbnail) = EmbeddedThumbnail(startOf: input) {
        guard let info = try? builtIn.info(of: thumbnail), info.size.width * info.size.height <= 512 * 512 else {
            fatalError("a thumbnail that cannot be used")
        }
    }
    return 0
}

/// The same for the boxes of AVIF and HEIC, which are read without their libraries.
public func exerciseMedia(with bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = data(bytes, count)
    guard [.avif, .heic].contains(ImageFormat(signatureOf: input)) else { return 0 }
    probe(input, with: withFormats)
    // Both make the file that the library reads.
    _ = try? withFormats.info(of: input)
    _ = try? withFormats.metadata(of: input)
    findGainMap(in: input, with: withFormats)
    return 0
}

/// The same for the headers of JPEG 2000; then OpenJPEG gets what is within small limits. More memory than that is a
/// fault, which libFuzzer's own limit finds.
public func exerciseJPEG2000(with bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = data(bytes, count)
    guard ImageFormat(signatureOf: input) == .jpeg2000 else { return 0 }
    probe(input, with: withFormats)
    let info = try? withFormats.info(of: input)
    var options = DecodingOptions()
    (options.limits.pixelCount, options.limits.memoryByteCount) = (1 << 20, 64 << 20)
    for thumbnail in [nil, Thumbnail(.pixels(width: 8, height: 8))] {
        options.thumbnail = thumbnail
        guard let image = try? withFormats.decode(input, options: options) else { continue }
        if thumbnail == nil, info?.size != image.pixels.size { fatalError("another size than the headers say") }
    }
    compareStrips(of: input, limits: options.limits)
    return 0
}

/// With the least memory, strips are decoded one by one: they must have the same pixels.
private func compareStrips(of input: Data, limits: DecodingLimits) {
    var options = DecodingOptions(damage: .refuse)
    options.limits = limits
    guard let whole = try? withFormats.decode(input, options: options) else { return }
    options.limits.memoryByteCount = 1
    do throws(WebImageError) {
        _ = try withFormats.decode(input, options: options)
    } catch .limitExceeded(.memory(let byteCount, _), _) {
        options.limits.memoryByteCount = byteCount
    } catch { return }
    guard let strips = try? withFormats.decode(input, options: options) else { return }
    let areEqual = whole.pixels.withUnsafeBytes { whole in strips.pixels.withUnsafeBytes { whole.elementsEqual($0) } }
    if !areEqual { fatalError("other pixels in strips") }
}

private func probe(_ input: Data, with registry: CodecRegistry) {
    var last: ImageProbe?
    for length in stride(from: 0, through: input.count, by: max(1, input.count / 64)) {
        guard let probe = try? registry.probe(input.prefix(length)) else { continue }
        if let last, last.format == probe.format, last.orientation == probe.orientation, last.size != probe.size {
            fatalError("the size changes from \(last.size) to \(probe.size) at \(length) bytes")
        }
        last = probe
    }
}

/// Writes what libFuzzer made as EXIF and XMP, and reads it again.
public func exerciseMetadata(with bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = data(bytes, count)
    var options = EncodingOptions()
    options.metadata = ImageMetadata(exif: input, xmp: input)
    for format in [ImageFormat.png, .tiff] {
        guard let file = try? withFormats.encode(Image(pixels: pixel), as: format, options: options) else { continue }
        guard let metadata = try? withFormats.metadata(of: file), let exif = metadata.exif,
            (try? withFormats.decode(file)) != nil
        else { fatalError("\(format.name) with this metadata cannot be read") }
        if format == .png, exif.count > input.count { fatalError("EXIF that has grown") }
    }
    return 0
}

/// Reads what libFuzzer made as stored pixels, which must be the same when written again.
public func exercisePixels(with bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard let file = PixelFile(data(bytes, count)), let again = file.encoded() else { return 0 }
    guard let second = PixelFile(again), second.image.pixels.size == file.image.pixels.size,
        second.image.pixels.withUnsafeBytes({ second in
            file.image.pixels.withUnsafeBytes { second.elementsEqual($0) }
        })
    else { fatalError("other pixels the second time") }
    return 0
}

/// A map that is found is in a file of its own, and what is known about it is written as it is read.
private func findGainMap(in input: Data, with registry: CodecRegistry) {
    guard let format = ImageFormat(signatureOf: input),
        let map = try? (registry.decoder(of: format) as? any GainMapDecoder)?.gainMap(of: input)
    else { return }
    let colors = map.colors?.bytes
    guard let again = StoredGainMap(file: map.file, metadataBytes: map.metadataBytes, colors: colors),
        again.metadata == map.metadata, again.colors == map.colors, ImageFormat(signatureOf: map.file) == format
    else { fatalError("a gain map that is another one in a message") }
    _ = try? registry.info(of: map.file)
}

private let builtIn = CodecRegistry()
private let withFormats = CodecRegistry.inProcess()
private let pixel = {
    guard let pixels = try? MutablePixelBuffer(width: 1, height: 1) else { fatalError("no memory") }
    return pixels.freeze(isOpaque: false)
}()

/// Decodes images with the color profile that libFuzzer made.
public func exerciseProfile(with bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let faults = profileExercise.faults(of: data(bytes, count))
    if !faults.isEmpty { fatalError(faults.joined(separator: "; ")) }
    return 0
}

/// With gray, RGB and CMYK images; `Fuzzing/run` starts this in its own directory.
private let profileExercise = ProfileExercise(
    images: ["grey.jpg", "baseline-444.jpg", "cmyk-adobe.jpg"].map { name in
        guard let data = try? Data(contentsOf: URL(filePath: "../Tests/Fixtures/images/" + name)) else {
            fatalError("no image \(name); start this with Fuzzing/run")
        }
        return [UInt8](data)
    })

private func data(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Data {
    bytes.map { Data(bytes: $0, count: count) } ?? Data()
}
