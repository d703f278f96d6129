import Foundation

extension Data {
    /// Where a baseline JPEG's frame header (SOF0, ITU-T T.81, B.2.2) begins.
    var baselineFrameHeader: Int? { indices.dropLast().first { self[$0] == 0xFF && self[$0 + 1] == 0xC0 } }
}
