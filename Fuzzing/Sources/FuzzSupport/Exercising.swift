import FoundationEssentials
import WebImageCoding
public import WebImageCore

/// Runs ``DecoderExercise`` on what libFuzzer made, and stops the program at a fault.
public func exercise(_ format: ImageFormat, with bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard let decoder = CodecRegistry.builtInDecoders.first(where: { $0.format == format }) else {
        fatalError("no decoder for \(format.name)")
    }
    var exercise = DecoderExercise(decoder, input: data(bytes, count))
    exercise.run()
    if !exercise.faults.isEmpty { fatalError(exercise.faults.joined(separator: "; ")) }
    return 0
}

/// Asks every built-in decoder about growing beginnings of what libFuzzer made: an answer must stay.
public func exerciseProbe(with bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = data(bytes, count)
    for decoder in CodecRegistry.builtInDecoders where decoder.canDecode(input) {
        var last: ImageProbe?
        for length in stride(from: 0, through: input.count, by: max(1, input.count / 64)) {
            guard let probe = try? decoder.probe(input.prefix(length)) else { continue }
            if let last, last.orientation == probe.orientation, last.size != probe.size {
                fatalError("the size changes from \(last.size) to \(probe.size) at \(length) bytes")
            }
            last = probe
        }
    }
    return 0
}

/// Shows pictures with what libFuzzer made for their colour profile.
public func exerciseProfile(with bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let faults = profileExercise.faults(of: data(bytes, count))
    if !faults.isEmpty { fatalError(faults.joined(separator: "; ")) }
    return 0
}

/// With pictures of every kind of colours; `Fuzzing/run` starts this in its own directory.
private let profileExercise = ProfileExercise(
    images: ["grey.jpg", "baseline-444.jpg", "cmyk-adobe.jpg"].map { name in
        guard let data = try? Data(contentsOf: URL(filePath: "../Tests/Fixtures/images/" + name)) else {
            fatalError("no picture \(name): run this with Fuzzing/run")
        }
        return [UInt8](data)
    })

private func data(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Data {
    bytes.map { Data(bytes: $0, count: count) } ?? Data()
}
