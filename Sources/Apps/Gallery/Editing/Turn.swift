import WebImageGTK

/// A rotation by quarters, perhaps with a mirroring: exchanges rows and columns, then mirrors. The eight orientations of EXIF.
struct Turn: Equatable {
    var transposes = false
    var mirrorsColumns = false
    var mirrorsRows = false

    /// The turn that makes stored pixels upright.
    init(_ orientation: ImageOrientation) {
        transposes = orientation.swapsSides
        mirrorsColumns = [.upMirrored, .down, .right, .rightMirrored].contains(orientation)
        mirrorsRows = [.down, .downMirrored, .rightMirrored, .left].contains(orientation)
    }

    /// The orientation whose pixels the turn makes upright.
    var orientation: ImageOrientation {
        switch (transposes, mirrorsColumns, mirrorsRows) {
        case (false, false, false): .up
        case (false, true, false): .upMirrored
        case (false, true, true): .down
        case (false, false, true): .downMirrored
        case (true, false, false): .leftMirrored
        case (true, true, false): .right
        case (true, true, true): .rightMirrored
        case (true, false, true): .left
        }
    }

    /// Returns the turn followed by quarter turns.
    ///
    /// - Parameter quarters: clockwise.
    func rotated(by quarters: Int) -> Turn {
        var turn = self
        for _ in 0..<(((quarters % 4) + 4) % 4) {
            turn.transposes.toggle()
            (turn.mirrorsColumns, turn.mirrorsRows) = (!turn.mirrorsRows, turn.mirrorsColumns)
        }
        return turn
    }
}
