#include "CWebImageBenchmarkPeers.h"

#include <webp/decode.h>
#include <webp/demux.h>
#include <webp/encode.h>

bool peer_decode_webp(const uint8_t *data, size_t length, uint8_t *pixels, size_t capacity) {
    WebPDecoderConfig config;
    if (!WebPInitDecoderConfig(&config) || WebPGetFeatures(data, length, &config.input) != VP8_STATUS_OK) return false;
    config.options.use_threads = 1;
    config.output.colorspace = MODE_RGBA;
    config.output.is_external_memory = 1;
    config.output.u.RGBA = (WebPRGBABuffer){.rgba = pixels, .stride = config.input.width * 4, .size = capacity};
    return WebPDecode(data, length, &config) == VP8_STATUS_OK;
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
