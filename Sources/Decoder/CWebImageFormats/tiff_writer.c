#ifndef CWI_WITHOUT_TIFF

#include "tiff.h"

typedef struct {
    cwi_encoder encoder;
    TIFF *tiff;
    tiff_memory memory;
} tiff_encoder;

static void close_encoder(cwi_encoder *encoder) {
    tiff_encoder *tiff = (tiff_encoder *)encoder;
    if (tiff->tiff) TIFFClose(tiff->tiff);
    free(tiff->memory.output.bytes);
    free(tiff);
}

static cwi_result add(cwi_encoder *encoder, const uint8_t *pixels, size_t stride, int milliseconds) {
    tiff_encoder *tiff = (tiff_encoder *)encoder;
    const cwi_encoding *encoding = &encoder->encoding;
    uint16_t channels = encoding->has_alpha ? 4 : 3;
    uint8_t *row = malloc((size_t)encoding->width * channels);
    if (!row) return cwi_failure(CWI_NO_MEMORY, NULL);
    bool is_written = true;
    for (uint32_t y = 0; is_written && y < encoding->height; y++) {
        for (uint32_t x = 0; x < encoding->width; x++)
            memcpy(row + (size_t)x * channels, pixels + y * stride + (size_t)x * 4, channels);
        is_written = TIFFWriteScanline(tiff->tiff, row, y, 0) >= 0;
    }
    free(row);
    return is_written ? cwi_success() : cwi_failure(CWI_UNSUPPORTED, "libtiff refused the image");
}

static cwi_result finish(cwi_encoder *encoder, uint8_t **bytes, size_t *length) {
    tiff_encoder *tiff = (tiff_encoder *)encoder;
    if (!TIFFFlush(tiff->tiff)) return cwi_failure(CWI_UNSUPPORTED, "libtiff refused the image");
    // Closing writes the directory again, if it has changed since.
    TIFFClose(tiff->tiff);
    tiff->tiff = NULL;
    *bytes = tiff->memory.output.bytes;
    *length = tiff->memory.output.length;
    tiff->memory.output = (cwi_buffer){0};
    return tiff->memory.error_count ? cwi_failure(CWI_NO_MEMORY, NULL) : cwi_success();
}

static const cwi_writing writing = {.close = close_encoder, .add = add, .finish = finish};

cwi_result cwi_encode_tiff(const cwi_encoding *encoding, cwi_encoder **encoder) {
    tiff_encoder *tiff = calloc(1, sizeof *tiff);
    if (!tiff) return cwi_failure(CWI_NO_MEMORY, NULL);
    tiff->encoder = (cwi_encoder){.writing = &writing, .encoding = *encoding};
    tiff->tiff = cwi_tiff_open(&tiff->memory, "wm", 0);
    if (!tiff->tiff) {
        free(tiff);
        return cwi_failure(CWI_NO_MEMORY, NULL);
    }
    TIFF *library = tiff->tiff;
    TIFFSetField(library, TIFFTAG_IMAGEWIDTH, encoding->width);
    TIFFSetField(library, TIFFTAG_IMAGELENGTH, encoding->height);
    TIFFSetField(library, TIFFTAG_BITSPERSAMPLE, 8);
    TIFFSetField(library, TIFFTAG_SAMPLESPERPIXEL, encoding->has_alpha ? 4 : 3);
    TIFFSetField(library, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_RGB);
    TIFFSetField(library, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFSetField(library, TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT);
    uint16_t alpha = EXTRASAMPLE_UNASSALPHA;
    if (encoding->has_alpha) TIFFSetField(library, TIFFTAG_EXTRASAMPLES, 1, &alpha);
    // All programs read deflate; the predictor shortens photos by a third.
    TIFFSetField(library, TIFFTAG_COMPRESSION, COMPRESSION_ADOBE_DEFLATE);
    TIFFSetField(library, TIFFTAG_PREDICTOR, PREDICTOR_HORIZONTAL);
    TIFFSetField(library, TIFFTAG_ZIPQUALITY, encoding->speed > 8 ? 1 : encoding->speed < 1 ? 9 : 9 - encoding->speed);
    TIFFSetField(library, TIFFTAG_ROWSPERSTRIP, TIFFDefaultStripSize(library, 0));
    *encoder = &tiff->encoder;
    return cwi_success();
}

#endif
