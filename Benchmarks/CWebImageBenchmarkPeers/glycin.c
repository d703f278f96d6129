#include "formats.h"

#include <dlfcn.h>

// The library is looked for when the benchmark runs: Debian 12 has none. These are the declarations of its header that are used, with pointers
// in place of objects.
typedef void *(*new_function)(void *file);
typedef void *(*load_function)(void *object, void **error);
typedef uint32_t (*number_function)(void *frame);
typedef void *(*bytes_function)(void *frame);
typedef void *(*file_function)(const char *path);
typedef void (*unref_function)(void *object);

static struct {
    void *library;
    new_function new_loader;
    load_function load, next_frame;
    number_function width, height;
    bytes_function bytes;
    file_function file;
    unref_function unref;
} glycin;

/// Its dependencies are searched as well.
static void *find(const char *name) { return dlsym(glycin.library, name); }

const char *peer_glycin_open(void) {
    static const char *const names[] = {"libglycin-2.so.0", "libglycin-1.so.0"};
    for (int index = 0; index < 2; index++) {
        glycin.library = dlopen(names[index], RTLD_NOW);
        if (!glycin.library) continue;
        glycin.new_loader = (new_function)find("gly_loader_new");
        glycin.load = (load_function)find("gly_loader_load");
        glycin.next_frame = (load_function)find("gly_image_next_frame");
        glycin.width = (number_function)find("gly_frame_get_width");
        glycin.height = (number_function)find("gly_frame_get_height");
        glycin.bytes = (bytes_function)find("gly_frame_get_buf_bytes");
        glycin.file = (file_function)find("g_file_new_for_path");
        glycin.unref = (unref_function)find("g_object_unref");
        bool is_complete = glycin.new_loader && glycin.load && glycin.next_frame && glycin.width && glycin.height && glycin.bytes &&
                           glycin.file && glycin.unref;
        return is_complete ? names[index] : NULL;
    }
    return NULL;
}

bool peer_decode_glycin(const char *path, uint32_t *width, uint32_t *height) {
    void *file = glycin.file(path), *loader = glycin.new_loader(file);
    void *image = glycin.load(loader, NULL);
    void *frame = image ? glycin.next_frame(image, NULL) : NULL;
    bool is_decoded = frame && glycin.bytes(frame);
    if (is_decoded) {
        *width = glycin.width(frame);
        *height = glycin.height(frame);
    }
    if (frame) glycin.unref(frame);
    if (image) glycin.unref(image);
    glycin.unref(loader);
    glycin.unref(file);
    return is_decoded;
}
