/// How long browsers show a frame of an animation.
package enum FrameDuration {
    /// The seconds a frame is shown that asks for `seconds`: 10 ms and less mean 100 ms, as in every browser, because
    /// many old files ask for 0 and expect what their time's programs made of it.
    package static func played(_ seconds: Double) -> Double { seconds <= 0.01 ? 0.1 : seconds }
}
