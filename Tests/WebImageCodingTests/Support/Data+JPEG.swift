import Foundation

extension Data {
    /// Where a baseline JPEG's frame header (SOF0, ITU-T T.81, B.2.2) begins.
    var baselineFrameHeader: Int? { indices.dropLast().first { self[$0] == 0xFF && self[$0 + 1] == 0xC0 } }

    /// Where a JPEG's scan headers (SOS) begin. Thumbnails in its metadata would be counted as well.
    var scanOffsets: [Int] { indices.dropLast().filter { self[$0] == 0xFF && self[$0 + 1] == 0xDA } }
    /// How many scans a JPEG has.
    var scanCount: Int { scanOffsets.count }
}
