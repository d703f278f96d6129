#include "CWebImageBenchmarkPeers.h"

#include <webp/decode.h>
#include <webp/demux.h>
#include <webp/encode.h>

bool peer_decode_webp(const uint8_t *data, size_t length, uint8_t *pixels, size_t capacity) {
    int width = 0, height = 0;
    if (!WebPGetInfo(data, length, &width, &height)) return false;
    return WebPDecodeRGBAInto(data, length, pixels, capacity, width * 4) != NULL;
}

int peer_decode_webp_frames(const uint8_t *data, size_t length) {
    WebPAnimDecoderOptions options;
    WebPData file = {data, length};
    if (!WebPAnimDecoderOptionsInit(&options)) return 0;
    options.color_mode = MODE_rgbA;
    WebPAnimDecoder *decoder = WebPAnimDecoderNew(&file, &options);
    if (decoder == NULL) return 0;
    int count = 0, time = 0;
    uint8_t *canvas = NULL;
    while (WebPAnimDecoderHasMoreFrames(decoder) && WebPAnimDecoderGetNext(decoder, &canvas, &time)) count++;
    WebPAnimDecoderDelete(decoder);
    return count;
}

size_t peer_encode_webp(const uint8_t *pixels, uint32_t width, uint32_t height, int quality) {
    uint8_t *data = NULL;
    size_t length = WebPEncodeRGBA(pixels, (int)width, (int)height, (int)width * 4, (float)quality, &data);
    WebPFree(data);
    return length;
}
