#include "CWebImageBenchmarkPeers.h"

#include <webp/encode.h>

size_t peer_encode_webp(const uint8_t *pixels, uint32_t width, uint32_t height, int quality) {
    uint8_t *data = NULL;
    size_t length = WebPEncodeRGBA(pixels, (int)width, (int)height, (int)width * 4, (float)quality, &data);
    WebPFree(data);
    return length;
}
