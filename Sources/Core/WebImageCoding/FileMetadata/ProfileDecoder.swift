package import FoundationEssentials
package import WebImageCore

/// A decoder that reads the embedded color profile without decoding.
package protocol ProfileDecoder: ImageDecoder {
    /// Returns the profile of a file; `nil` without one that can be read, and where the file describes its colors
    /// otherwise, too.
    ///
    /// - Throws: ``WebImageError/decoding(format:reason:url:)``.
    func colorProfile(of data: Data) throws(WebImageError) -> ColorProfile?
}

extension JPEGDecoder: ProfileDecoder {
    package func colorProfile(of data: Data) throws(WebImageError) -> ColorProfile? {
        try JPEGHeader(reading: data.bytes).colorProfile(in: data.bytes)
    }
}

extension PNGDecoder: ProfileDecoder {
    package func colorProfile(of data: Data) throws(WebImageError) -> ColorProfile? {
        try PNGHeader(reading: data.bytes).colors.countingProfile(in: data.bytes)
    }
}

extension WebPDecoder: ProfileDecoder {
    func colorProfile(of data: Data) throws(WebImageError) -> ColorProfile? {
        try WebPFile(reading: data.bytes).colorProfile(in: data.bytes)
    }
}
