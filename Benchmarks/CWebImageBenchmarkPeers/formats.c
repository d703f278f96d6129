#include "formats.h"

#include <avif/avif.h>
#include <jxl/decode.h>
#include <jxl/thread_parallel_runner.h>
#include <libheif/heif.h>
#include <librsvg/rsvg.h>
#include <openjpeg.h>
#include <string.h>
#include <tiffio.h>
#include <unistd.h>

static int processor_count(void) { return (int)sysconf(_SC_NPROCESSORS_ONLN); }

bool peer_decode_avif(const uint8_t *data, size_t length, uint8_t *pixels, size_t capacity) {
    avifDecoder *decoder = avifDecoderCreate();
    decoder->maxThreads = processor_count();
    bool is_decoded = avifDecoderSetIOMemory(decoder, data, length) == AVIF_RESULT_OK &&
                      avifDecoderParse(decoder) == AVIF_RESULT_OK && avifDecoderNextImage(decoder) == AVIF_RESULT_OK;
    if (is_decoded) {
        avifRGBImage rgb;
        avifRGBImageSetDefaults(&rgb, decoder->image);
        rgb.depth = 8;
        rgb.pixels = pixels;
        rgb.rowBytes = decoder->image->width * 4;
        is_decoded = (size_t)rgb.rowBytes * decoder->image->height <= capacity &&
                     avifImageYUVToRGB(decoder->image, &rgb) == AVIF_RESULT_OK;
    }
    avifDecoderDestroy(decoder);
    return is_decoded;
}

bool peer_decode_heic(const uint8_t *data, size_t length, uint8_t *pixels, size_t capacity) {
    struct heif_context *context = heif_context_alloc();
    heif_context_set_max_decoding_threads(context, processor_count());
    struct heif_image_handle *handle = NULL;
    struct heif_image *image = NULL;
    bool is_decoded =
        !heif_context_read_from_memory_without_copy(context, data, length, NULL).code &&
        !heif_context_get_primary_image_handle(context, &handle).code &&
        !heif_decode_image(handle, &image, heif_colorspace_RGB, heif_chroma_interleaved_RGBA, NULL).code;
    if (is_decoded) {
        int stride = 0;
        const uint8_t *plane = heif_image_get_plane_readonly(image, heif_channel_interleaved, &stride);
        size_t row = (size_t)heif_image_handle_get_width(handle) * 4;
        int height = heif_image_handle_get_height(handle);
        is_decoded = row * (size_t)height <= capacity;
        for (int y = 0; is_decoded && y < height; y++)
            memcpy(pixels + (size_t)y * row, plane + (size_t)y * (size_t)stride, row);
    }
    if (image) heif_image_release(image);
    if (handle) heif_image_handle_release(handle);
    heif_context_free(context);
    return is_decoded;
}

bool peer_decode_jxl(const uint8_t *data, size_t length, uint8_t *pixels, size_t capacity) {
    JxlDecoder *decoder = JxlDecoderCreate(NULL);
    void *runner = JxlThreadParallelRunnerCreate(NULL, (size_t)processor_count());
    JxlDecoderSetParallelRunner(decoder, JxlThreadParallelRunner, runner);
    JxlDecoderSubscribeEvents(decoder, JXL_DEC_FULL_IMAGE);
    JxlDecoderSetInput(decoder, data, length);
    JxlDecoderCloseInput(decoder);
    JxlPixelFormat format = {.num_channels = 4, .data_type = JXL_TYPE_UINT8, .endianness = JXL_NATIVE_ENDIAN};
    bool is_decoded = JxlDecoderProcessInput(decoder) == JXL_DEC_NEED_IMAGE_OUT_BUFFER &&
                      JxlDecoderSetImageOutBuffer(decoder, &format, pixels, capacity) == JXL_DEC_SUCCESS &&
                      JxlDecoderProcessInput(decoder) == JXL_DEC_FULL_IMAGE;
    JxlDecoderDestroy(decoder);
    JxlThreadParallelRunnerDestroy(runner);
    return is_decoded;
}

typedef struct {
    const uint8_t *bytes;
    size_t length, position;
} memory_file;

static tmsize_t read_tiff(thandle_t handle, void *destination, tmsize_t count) {
    memory_file *file = (memory_file *)handle;
    size_t rest = file->length - file->position, taken = (size_t)count < rest ? (size_t)count : rest;
    memcpy(destination, file->bytes + file->position, taken);
    file->position += taken;
    return (tmsize_t)taken;
}

static tmsize_t write_tiff(thandle_t handle, void *source, tmsize_t count) { return 0; }

static toff_t seek_tiff(thandle_t handle, toff_t offset, int origin) {
    memory_file *file = (memory_file *)handle;
    toff_t start = origin == SEEK_SET ? 0 : origin == SEEK_CUR ? file->position : file->length;
    file->position = (size_t)(start + offset);
    return file->position;
}

static int close_tiff(thandle_t handle) { return 0; }
static toff_t tiff_length(thandle_t handle) { return ((memory_file *)handle)->length; }

bool peer_decode_tiff(const uint8_t *data, size_t length, uint8_t *pixels, size_t capacity) {
    memory_file file = {data, length, 0};
    TIFF *tiff = TIFFClientOpen(
        "memory", "rm", (thandle_t)&file, read_tiff, write_tiff, seek_tiff, close_tiff, tiff_length, NULL, NULL);
    if (!tiff) return false;
    uint32_t width = 0, height = 0;
    TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &width);
    TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &height);
    bool is_decoded = (size_t)width * height * 4 <= capacity &&
                      TIFFReadRGBAImageOriented(tiff, width, height, (uint32_t *)pixels, ORIENTATION_TOPLEFT, 1);
    TIFFClose(tiff);
    return is_decoded;
}

static OPJ_SIZE_T read_jp2(void *destination, OPJ_SIZE_T count, void *data) {
    memory_file *file = data;
    if (file->position == file->length) return (OPJ_SIZE_T)-1;
    return (OPJ_SIZE_T)read_tiff((thandle_t)file, destination, (tmsize_t)count);
}

static OPJ_OFF_T skip_jp2(OPJ_OFF_T count, void *data) {
    ((memory_file *)data)->position += (size_t)count;
    return count;
}

static OPJ_BOOL seek_jp2(OPJ_OFF_T offset, void *data) {
    ((memory_file *)data)->position = (size_t)offset;
    return OPJ_TRUE;
}

bool peer_decode_jp2(const uint8_t *data, size_t length, uint8_t *pixels, size_t capacity) {
    memory_file file = {data, length, 0};
    opj_stream_t *stream = opj_stream_create(1 << 16, OPJ_TRUE);
    opj_stream_set_user_data(stream, &file, NULL);
    opj_stream_set_user_data_length(stream, length);
    opj_stream_set_read_function(stream, read_jp2);
    opj_stream_set_skip_function(stream, skip_jp2);
    opj_stream_set_seek_function(stream, seek_jp2);
    opj_codec_t *codec = opj_create_decompress(OPJ_CODEC_JP2);
    opj_dparameters_t parameters;
    opj_set_default_decoder_parameters(&parameters);
    opj_image_t *image = NULL;
    bool is_decoded = opj_setup_decoder(codec, &parameters) && opj_codec_set_threads(codec, processor_count()) &&
                      opj_read_header(stream, codec, &image) && opj_decode(codec, stream, image) &&
                      opj_end_decompress(codec, stream) && image->numcomps == 3;
    size_t count = is_decoded ? (size_t)image->comps[0].w * image->comps[0].h : 0;
    is_decoded = is_decoded && count * 4 <= capacity;
    for (size_t index = 0; is_decoded && index < count; index++) {
        for (int channel = 0; channel < 3; channel++) {
            int value = image->comps[channel].data[index];
            pixels[index * 4 + (size_t)channel] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
        }
        pixels[index * 4 + 3] = 255;
    }
    if (image) opj_image_destroy(image);
    opj_destroy_codec(codec);
    opj_stream_destroy(stream);
    return is_decoded;
}

bool peer_draw_svg(const uint8_t *data, size_t length, uint32_t width, uint32_t height, uint8_t *pixels) {
    RsvgHandle *handle = rsvg_handle_new_from_data(data, length, NULL);
    if (!handle) return false;
    memset(pixels, 0, (size_t)width * height * 4);
    cairo_surface_t *surface = cairo_image_surface_create_for_data(
        pixels, CAIRO_FORMAT_ARGB32, (int)width, (int)height, (int)width * 4);
    cairo_t *context = cairo_create(surface);
    RsvgRectangle viewport = {0, 0, width, height};
    bool is_drawn = rsvg_handle_render_document(handle, context, &viewport, NULL);
    cairo_destroy(context);
    cairo_surface_destroy(surface);
    g_object_unref(handle);
    return is_drawn;
}
