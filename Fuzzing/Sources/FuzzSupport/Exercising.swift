import FoundationEssentials
public import WebImageCoding
import WebImageCore

/// Runs ``DecoderExercise`` on what libFuzzer made, and stops the program at a fault.
public func exercise(_ decoder: any ImageDecoder, with bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
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

private func data(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Data {
    bytes.map { Data(bytes: $0, count: count) } ?? Data()
}
