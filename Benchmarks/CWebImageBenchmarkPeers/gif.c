#include "CWebImageBenchmarkPeers.h"

#include <stdlib.h>
#include <string.h>

#include <gif_lib.h>

// Bytes that are read or written in order.
struct stream {
    uint8_t *bytes;
    size_t length;
    size_t position;
};

static int read_bytes(GifFileType *gif, GifByteType *bytes, int count) {
    struct stream *stream = gif->UserData;
    size_t available = stream->length - stream->position;
    size_t taken = (size_t)count < available ? (size_t)count : available;
    memcpy(bytes, stream->bytes + stream->position, taken);
    stream->position += taken;
    return (int)taken;
}

static int write_bytes(GifFileType *gif, const GifByteType *bytes, int count) {
    struct stream *stream = gif->UserData;
    if (stream->position + (size_t)count > stream->length) {
        stream->length = (stream->position + (size_t)count) * 2;
        stream->bytes = realloc(stream->bytes, stream->length);
    }
    memcpy(stream->bytes + stream->position, bytes, (size_t)count);
    stream->position += (size_t)count;
    return count;
}

static void draw(
    const SavedImage *image, const ColorMapObject *colors, int transparent, uint8_t *canvas, size_t canvas_width) {
    const GifImageDesc *box = &image->ImageDesc;
    for (int y = 0; y < box->Height; y++) {
        const GifByteType *indices = image->RasterBits + (size_t)y * (size_t)box->Width;
        uint8_t *pixel = canvas + ((size_t)(box->Top + y) * canvas_width + (size_t)box->Left) * 4;
        for (int x = 0; x < box->Width; x++, pixel += 4) {
            if (indices[x] == transparent) continue;
            GifColorType color = colors->Colors[indices[x]];
            pixel[0] = color.Red;
            pixel[1] = color.Green;
            pixel[2] = color.Blue;
            pixel[3] = 255;
        }
    }
}

static uint64_t hash(const uint8_t *bytes, size_t length) {
    uint64_t value = 0xCBF29CE484222325;
    for (size_t i = 0; i < length; i++) value = (value ^ bytes[i]) * 0x100000001B3;
    return value;
}

bool peer_decode_gif(const uint8_t *data, size_t length, uint8_t *canvas, size_t capacity, uint64_t *hashes) {
    struct stream stream = {(uint8_t *)data, length, 0};
    GifFileType *gif = DGifOpen(&stream, read_bytes, NULL);
    if (gif == NULL) return false;
    size_t size = (size_t)gif->SWidth * (size_t)gif->SHeight * 4;
    bool is_good = size <= capacity && DGifSlurp(gif) == GIF_OK;
    if (is_good) memset(canvas, 0, size);
    for (int i = 0; is_good && i < gif->ImageCount; i++) {
        const SavedImage *image = &gif->SavedImages[i];
        GraphicsControlBlock control;
        int transparent = DGifSavedExtensionToGCB(gif, i, &control) == GIF_OK ? control.TransparentColor : -1;
        draw(
            image, image->ImageDesc.ColorMap ? image->ImageDesc.ColorMap : gif->SColorMap, transparent, canvas,
            (size_t)gif->SWidth);
        if (hashes != NULL) hashes[i] = hash(canvas, size);
    }
    DGifCloseFile(gif, NULL);
    return is_good;
}

uint8_t *peer_make_gif(int width, int height, int frame_count, bool is_whole, size_t *length) {
    struct stream stream = {NULL, 0, 0};
    GifFileType *gif = EGifOpen(&stream, write_bytes, NULL);
    GifColorType colors[256];
    for (int i = 0; i < 256; i++) colors[i] = (GifColorType){(GifByteType)i, (GifByteType)(255 - i), (GifByteType)(i * 5)};
    ColorMapObject *map = GifMakeMapObject(256, colors);
    EGifSetGifVersion(gif, true);
    EGifPutScreenDesc(gif, width, height, 8, 0, map);
    GifPixelType *row = malloc((size_t)width);
    uint32_t noise = 1;
    for (int i = 0; i < frame_count; i++) {
        bool covers = is_whole || i == 0;
        int side = 48;
        int box_width = covers ? width : side, box_height = covers ? height : side;
        int left = covers ? 0 : i * 7 % (width - side), top = covers ? 0 : i * 5 % (height - side);
        GraphicsControlBlock control = {DISPOSE_DO_NOT, false, 4, covers ? NO_TRANSPARENT_COLOR : 0};
        GifByteType extension[4];
        EGifGCBToExtension(&control, extension);
        EGifPutExtension(gif, GRAPHICS_EXT_FUNC_CODE, 4, extension);
        EGifPutImageDesc(gif, left, top, box_width, box_height, false, NULL);
        for (int y = 0; y < box_height; y++) {
            for (int x = 0; x < box_width; x++) {
                noise = noise * 1664525 + 1013904223;
                row[x] = (GifPixelType)(x / 3 + y / 2 + i * 4 + (int)(noise >> 30) * 3);
                if (!covers && (x + y) % 16 < 6) row[x] = 0;
            }
            EGifPutLine(gif, row, box_width);
        }
    }
    EGifCloseFile(gif, NULL);
    GifFreeMapObject(map);
    free(row);
    *length = stream.position;
    return stream.bytes;
}
