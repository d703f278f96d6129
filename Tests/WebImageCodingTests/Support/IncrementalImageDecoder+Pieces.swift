import Foundation
import WebImageCoding
import WebImageCore

extension IncrementalImageDecoder {
    /// The whole picture of bytes that arrive in pieces of `length`, with a preview after each.
    func decode(_ data: Data, inPiecesOf length: Int) throws(WebImageError) -> Image {
        for start in stride(from: 0, to: data.count, by: length) {
            try append(data[start..<min(start + length, data.count)])
            _ = try preview()
        }
        return try finish()
    }
}
