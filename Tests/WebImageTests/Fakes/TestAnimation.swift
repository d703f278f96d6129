import FoundationEssentials
import WebImage

/// A GIF whose frames are images of one colour each.
enum TestAnimation {
    static func gif(_ numbers: [Int]) throws -> Data {
        var animation = EncodableAnimation(loopCount: 0)
        for number in numbers { animation.append(try SolidPicture(number).png(), duration: .milliseconds(100)) }
        return try CodecRegistry.shared.encode(animation, as: .gif)
    }
}
