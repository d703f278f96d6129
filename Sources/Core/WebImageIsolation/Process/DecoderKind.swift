internal import CWebImageIsolation
internal import WebImageCore

/// What a decoder process has loaded. librsvg brings 38 other libraries with it, some 10 MiB and a third of the start, so only
/// processes that draw SVG load it.
package enum DecoderKind: Sendable {
    /// The libraries of all formats but SVG.
    case raster
    /// librsvg.
    case svg

    init(for format: ImageFormat) { self = format == .svg ? .svg : .raster }

    /// The kind of the calling process, which is a decoder.
    package static var ofThisProcess: DecoderKind { cwi_decoder_draws_svg() ? .svg : .raster }
}

extension [DecoderKind] {
    /// Removes one of this kind, if there is one.
    mutating func removeFirst(_ kind: DecoderKind) {
        if let index = firstIndex(of: kind) { remove(at: index) }
    }
}
