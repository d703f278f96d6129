#ifndef CWI_WITHOUT_SVG

#include "file.h"
#include "svg_library.h"

#include <math.h>

typedef struct {
    cwi_file file;
    RsvgHandle *handle;
} svg_file;

static void close_file(cwi_file *file) {
    g_object_unref(((svg_file *)file)->handle);
    free(file);
}

static cwi_result failure(GError *error, cwi_status status) {
    // The name of cairo's status is all that librsvg tells.
    if (error && strstr(error->message, "NoMemory")) status = CWI_NO_MEMORY;
    cwi_result result = cwi_failure(status, error ? error->message : NULL);
    if (error) g_error_free(error);
    return result;
}

static cwi_result draw(cwi_file *file, uint32_t width, uint32_t height, void *pixels, size_t stride) {
    memset(pixels, 0, stride * height);
    cairo_surface_t *surface =
        cairo_image_surface_create_for_data(pixels, CAIRO_FORMAT_ARGB32, (int)width, (int)height, (int)stride);
    cairo_t *context = cairo_create(surface);
    if (cairo_status(context) != CAIRO_STATUS_SUCCESS) {
        cwi_result result = cwi_failure(CWI_UNSUPPORTED, cairo_status_to_string(cairo_status(context)));
        cairo_destroy(context);
        cairo_surface_destroy(surface);
        return result;
    }
    RsvgRectangle viewport = {0, 0, width, height};
    GError *error = NULL;
    bool is_drawn = rsvg_handle_render_document(((svg_file *)file)->handle, context, &viewport, &error);
    cairo_surface_flush(surface);
    cairo_destroy(context);
    cairo_surface_destroy(surface);
    return is_drawn ? cwi_success() : failure(error, CWI_CORRUPT);
}

static const cwi_reading reading = {.close = close_file, .draw = draw};

/// A length in pixels; 0 for one that depends on something outside.
static double pixels(RsvgLength length) {
    static const double units[] = {
        [RSVG_UNIT_PX] = 1,         [RSVG_UNIT_IN] = 96,      [RSVG_UNIT_CM] = 96 / 2.54,
        [RSVG_UNIT_MM] = 96 / 25.4, [RSVG_UNIT_PT] = 96 / 72.0, [RSVG_UNIT_PC] = 16,
    };
    return (size_t)length.unit < sizeof units / sizeof *units ? length.length * units[length.unit] : 0;
}

/// Width and height at 96 dots per inch. As in CSS, a missing one follows from the proportions of the view box; without
/// both, the size is that of the view box, or else 300 × 150.
static void size_of(RsvgHandle *handle, double *width, double *height) {
    rsvg_handle_set_dpi(handle, 96);
    if (rsvg_handle_get_intrinsic_size_in_pixels(handle, width, height) && *width > 0 && *height > 0) return;
    gboolean has_width, has_height, has_box;
    RsvgLength own_width, own_height;
    RsvgRectangle box;
    rsvg_handle_get_intrinsic_dimensions(handle, &has_width, &own_width, &has_height, &own_height, &has_box, &box);
    if (!has_box || box.width <= 0 || box.height <= 0) box = (RsvgRectangle){0, 0, 300, 150};
    *width = has_width ? pixels(own_width) : 0;
    *height = has_height ? pixels(own_height) : 0;
    if (*width > 0) {
        *height = *width * box.height / box.width;
    } else if (*height > 0) {
        *width = *height * box.width / box.height;
    } else {
        *width = box.width;
        *height = box.height;
    }
}

cwi_result cwi_open_svg(
    const uint8_t *bytes, size_t length, cwi_limits limits, cwi_choice choice, cwi_file **file) {
    if (choice.page > 0) return cwi_no_page(1);
    if (choice.is_prefix) return cwi_failure(CWI_TRUNCATED, NULL);
    GError *error = NULL;
    // Without a base, references to anything but `data:` URLs find nothing. librsvg's limits on elements hold.
    RsvgHandle *handle = rsvg_handle_new_from_data(bytes, length, &error);
    if (!handle) return failure(error, CWI_CORRUPT);
    double width, height;
    size_of(handle, &width, &height);
    cwi_result result = isfinite(width) && isfinite(height) && width < 1e9 && height < 1e9
                            ? cwi_success()
                            : cwi_failure(CWI_CORRUPT, "a size that is not a number");
    uint32_t rounded_width = 1, rounded_height = 1;
    if (result.status == CWI_OK) {
        rounded_width = width < 1 ? 1 : (uint32_t)(width + 0.5);
        rounded_height = height < 1 ? 1 : (uint32_t)(height + 0.5);
        // At a requested size another limit counts, which the caller checks.
    }
    svg_file *svg = result.status == CWI_OK
                        ? cwi_make_file(sizeof *svg, &reading, bytes, length, limits, choice)
                        : NULL;
    if (!svg) {
        g_object_unref(handle);
        return result.status == CWI_OK ? cwi_failure(CWI_NO_MEMORY, NULL) : result;
    }
    svg->handle = handle;
    cwi_file_info *info = &svg->file.info;
    info->width = info->crop_width = rounded_width;
    info->height = info->crop_height = rounded_height;
    info->has_alpha = true;
    info->is_premultiplied = true;
    *file = &svg->file;
    return result;
}

#endif
