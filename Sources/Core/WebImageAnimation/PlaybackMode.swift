/// The order in which a player shows frames. For four frames:
///
/// ```swift
/// picture.playback.mode = .bounce
/// ```
///
/// | | a loop | stops on |
/// |---|---|---|
/// | `normal` | 0 1 2 3 | 3, the last |
/// | `reverse` | 3 2 1 0 | 0, the first |
/// | `bounce` | 0 1 2 3 2 1 | 0, where it began |
/// | `reversedBounce` | 3 2 1 0 1 2 | 3, where it began |
public enum PlaybackMode: Sendable, Hashable, CaseIterable {
    /// From the first frame to the last.
    case normal
    /// From the last frame to the first.
    case reverse
    /// From the first frame to the last and back.
    case bounce
    /// From the last frame to the first and back.
    case reversedBounce

    var turnsBack: Bool { self == .bounce || self == .reversedBounce }
    var beginsAtTheEnd: Bool { self == .reverse || self == .reversedBounce }
}

/// The sequence of frames in a mode. One loop is a list of entries, each of which shows a frame.
struct FrameOrder: Sendable, Hashable {
    let mode: PlaybackMode
    let frameCount: Int

    /// Entries per loop.
    var entryCount: Int { mode.turnsBack ? max(1, 2 * frameCount - 2) : frameCount }

    func frame(at entry: Int) -> Int {
        let place = entry < frameCount ? entry : 2 * frameCount - 2 - entry
        return mode.beginsAtTheEnd ? frameCount - 1 - place : place
    }

    /// The first entry that shows a frame.
    func entry(of frame: Int) -> Int { mode.beginsAtTheEnd ? frameCount - 1 - frame : frame }

    /// The entry `distance` entries later, in any loop.
    func entry(_ distance: Int, after entry: Int) -> Int { (entry + distance) % entryCount }

    /// Whether the next entry shows an earlier frame.
    func descends(after entry: Int) -> Bool {
        let isReturning = mode.turnsBack && entry >= frameCount - 1
        return isReturning != mode.beginsAtTheEnd
    }

    /// The frames of `count` entries, as ranges that do not overlap.
    func frames(from entry: Int, count: Int) -> [Range<Int>] {
        guard count > 0 else { return [] }
        guard count < entryCount else { return [0..<frameCount] }
        let end = entry + count
        guard mode.turnsBack else {
            let places = end <= frameCount ? [entry..<end] : [entry..<frameCount, 0..<end - frameCount]
            return places.map(mirrored)
        }
        func place(_ entry: Int) -> Int { entry < frameCount ? entry : 2 * frameCount - 2 - entry }
        let (first, last) = (place(entry), place((end - 1) % entryCount))
        let passesTurn = entry < frameCount && end >= frameCount
        // The end of the loop, where it begins; another turn may follow.
        let passesEnd = end > entryCount
        let passesNextTurn = end - entryCount >= frameCount
        let lower = passesEnd ? 0 : min(first, last)
        let upper = passesTurn || passesNextTurn ? frameCount - 1 : max(first, last)
        return [mirrored(lower..<upper + 1)]
    }

    private func mirrored(_ places: Range<Int>) -> Range<Int> {
        mode.beginsAtTheEnd ? frameCount - places.upperBound..<frameCount - places.lowerBound : places
    }
}
