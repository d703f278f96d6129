import CWebImageJPEG
import CWebImagePNG
import Testing

/// What the C encoders answer that Swift's checks before them keep from happening.
@Suite struct EncoderShimTests {
    @Test func passesLibjpegsWordsOnWhenItDoesNotStart() {
        let encoder = cwi_jpeg_encoder_create()
        defer { cwi_jpeg_encoder_destroy(encoder) }
        let settings = cwi_jpeg_encoder_settings(
            quality: 85, chroma_columns: 2, chroma_rows: 2, is_progressive: false, optimizes_codes: false)
        #expect(cwi_jpeg_encoder_start(encoder, 70_000, 1, settings) == CWI_JPEG_CORRUPT)
        #expect(String(cString: cwi_jpeg_encoder_message(encoder)).contains("65500"))
    }

    @Test func passesLibpngsWordsOnWhenItDoesNotStart() {
        let encoder = cwi_png_encoder_create()
        defer { cwi_png_encoder_destroy(encoder) }
        #expect(cwi_png_encoder_start(encoder, 0, 1, false, 3, -1) == CWI_PNG_CORRUPT)
        #expect(String(cString: cwi_png_encoder_message(encoder)) == "Invalid IHDR data")
    }

    @Test func endsAnEncoderThatWasNeverStarted() {
        cwi_jpeg_encoder_destroy(cwi_jpeg_encoder_create())
        cwi_png_encoder_destroy(cwi_png_encoder_create())
    }
}
