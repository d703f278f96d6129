/// Which frame comes when: one loop of a mode is a row of entries, each of which shows a frame.
struct FrameOrder: Sendable, Hashable {
    let mode: PlaybackMode
    let frameCount: Int

    /// How many entries a loop has.
    var entryCount: Int { mode.turnsBack ? max(1, 2 * frameCount - 2) : frameCount }

    /// The frame that an entry shows.
    func frame(at entry: Int) -> Int {
        let place = entry < frameCount ? entry : 2 * frameCount - 2 - entry
        return mode.beginsAtTheEnd ? frameCount - 1 - place : place
    }

    /// The first entry that shows a frame.
    func entry(of frame: Int) -> Int { mode.beginsAtTheEnd ? frameCount - 1 - frame : frame }

    /// The entry that much later, in whatever loop.
    func entry(_ distance: Int, after entry: Int) -> Int { (entry + distance) % entryCount }

    /// Whether frames get smaller numbers from this entry to the next.
    func descends(after entry: Int) -> Bool {
        let isOnItsWayBack = mode.turnsBack && entry >= frameCount - 1
        return isOnItsWayBack != mode.beginsAtTheEnd
    }

    /// The frames of `count` entries from one on, as ranges that do not overlap.
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
        // The end of the loop, at the place where it begins; another turn may follow.
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
