#include "CWebImageBenchmarkPeers.h"

#include <spng.h>

bool peer_decode_png_with_spng(const uint8_t *data, size_t length, uint8_t *pixels, size_t capacity) {
    spng_ctx *context = spng_ctx_new(0);
    if (context == NULL) return false;
    size_t size = 0;
    bool fits = spng_set_png_buffer(context, data, length) == 0 &&
                spng_decoded_image_size(context, SPNG_FMT_RGBA8, &size) == 0 && size <= capacity &&
                spng_decode_image(context, pixels, size, SPNG_FMT_RGBA8, SPNG_DECODE_TRNS) == 0;
    spng_ctx_free(context);
    return fits;
}
