#define _GNU_SOURCE
#include "spool.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// After jpeglib.h, whose configuration selects the messages.
#include <jerror.h>

// The blocks of a component, of which rows `start` to `start + row_limit` are in memory.
typedef struct spooled_array {
    struct spooled_array *next;
    size_t row_byte_count;
    JDIMENSION row_count;
    // The maximum number of rows of one access.
    JDIMENSION access_limit;
    off_t offset;
    // From here on, no row was requested for writing.
    JDIMENSION used_row_count;
    JDIMENSION start;
    JDIMENSION row_limit;
    boolean is_loaded;
    boolean is_changed;
    char *window;
    // The addresses of the window's rows.
    JBLOCKARRAY rows;
} spooled_array;

// A megapixel of one component.
static const size_t window_byte_count = 2 << 20;
// libjpeg-turbo requests up to five times the rows of blocks of an interleaved row, to smooth between blocks.
static const JDIMENSION access_factor = 5;

static JDIMENSION window_row_count(size_t row_byte_count, JDIMENSION row_count, JDIMENSION access_limit) {
    size_t wanted = window_byte_count / row_byte_count;
    if (wanted < access_limit) wanted = access_limit;
    return wanted < row_count ? (JDIMENSION)wanted : row_count;
}

static _Noreturn void fail(j_common_ptr jpeg, int code, int error) {
    cwi_jpeg_spool_of(jpeg)->system_error = error;
    jpeg->err->msg_code = code;
    jpeg->err->error_exit(jpeg);
    __builtin_unreachable();
}

static _Noreturn void fail_access(j_common_ptr jpeg) {
    jpeg->err->msg_code = JERR_BAD_VIRTUAL_ACCESS;
    jpeg->err->error_exit(jpeg);
    __builtin_unreachable();
}

static jvirt_barray_ptr request_array(
    j_common_ptr jpeg, int pool, boolean is_zeroed, JDIMENSION block_count, JDIMENSION row_count,
    JDIMENSION access_limit) {
    // libjpeg's decoder needs zeros everywhere; rows that need not be zero may be.
    (void)is_zeroed;
    cwi_jpeg_spool *spool = cwi_jpeg_spool_of(jpeg);
    spooled_array *array = jpeg->mem->alloc_small(jpeg, pool, sizeof *array);
    *array = (spooled_array){
        .next = spool->arrays,
        .row_byte_count = (size_t)block_count * sizeof(JBLOCK),
        .row_count = row_count,
        .access_limit = access_limit,
        .offset = spool->byte_count,
    };
    spool->arrays = array;
    spool->byte_count += (off_t)(array->row_byte_count * row_count);
    return (jvirt_barray_ptr)array;
}

static void realize_arrays(j_common_ptr jpeg) {
    cwi_jpeg_spool *spool = cwi_jpeg_spool_of(jpeg);
    for (spooled_array *array = spool->arrays; array; array = array->next) {
        if (array->window) continue;
        if (array->row_byte_count == 0 || array->row_count == 0) fail_access(jpeg);
        array->row_limit = window_row_count(array->row_byte_count, array->row_count, array->access_limit);
        array->window = jpeg->mem->alloc_large(jpeg, JPOOL_IMAGE, array->row_byte_count * array->row_limit);
        array->rows = jpeg->mem->alloc_large(jpeg, JPOOL_IMAGE, sizeof(JBLOCKROW) * array->row_limit);
        for (JDIMENSION row = 0; row < array->row_limit; row++) {
            array->rows[row] = (JBLOCKROW)(void *)(array->window + array->row_byte_count * row);
        }
    }
    spool->realize_virt_arrays(jpeg);
}

// The bytes of the window's rows that are, or belong, in the file.
static size_t used_byte_count(const spooled_array *array) {
    JDIMENSION end = array->start + array->row_limit;
    if (end > array->used_row_count) end = array->used_row_count;
    return end > array->start ? array->row_byte_count * (end - array->start) : 0;
}

// The offset of the window's rows in the file.
static off_t window_offset(const spooled_array *array) {
    return array->offset + (off_t)(array->row_byte_count * array->start);
}

// Writes to a file that has its length.
static void save_mapped(j_common_ptr jpeg, const char *bytes, size_t length, off_t offset) {
    const cwi_jpeg_spool *spool = cwi_jpeg_spool_of(jpeg);
    if (offset > spool->fixed_length || (off_t)length > spool->fixed_length - offset) fail(jpeg, JERR_TFILE_WRITE, ENOSPC);
    size_t gap = (size_t)(offset % sysconf(_SC_PAGESIZE));
    char *page = mmap(NULL, gap + length, PROT_READ | PROT_WRITE, MAP_SHARED, spool->descriptor, offset - (off_t)gap);
    if (page == MAP_FAILED) fail(jpeg, JERR_TFILE_WRITE, errno);
    memcpy(page + gap, bytes, length);
    munmap(page, gap + length);
}

static void save(j_common_ptr jpeg, spooled_array *array) {
    size_t length = used_byte_count(array);
    if (!array->is_changed || length == 0) return;
    off_t offset = window_offset(array);
    int descriptor = cwi_jpeg_spool_of(jpeg)->descriptor;
    bool is_mapped = cwi_jpeg_spool_of(jpeg)->fixed_length > 0;
    if (is_mapped) save_mapped(jpeg, array->window, length, offset);
    for (size_t done = 0; done < length && !is_mapped;) {
        ssize_t count = pwrite(descriptor, array->window + done, length - done, offset + (off_t)done);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) fail(jpeg, JERR_TFILE_WRITE, count < 0 ? errno : ENOSPC);
        done += (size_t)count;
    }
    array->is_changed = FALSE;
}

static void load(j_common_ptr jpeg, spooled_array *array, JDIMENSION start) {
    array->is_loaded = FALSE;
    array->start = start;
    size_t length = used_byte_count(array);
    off_t offset = window_offset(array);
    int descriptor = cwi_jpeg_spool_of(jpeg)->descriptor;
    for (size_t done = 0; done < length;) {
        ssize_t count = pread(descriptor, array->window + done, length - done, offset + (off_t)done);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) fail(jpeg, JERR_TFILE_READ, count < 0 ? errno : EIO);
        done += (size_t)count;
    }
    memset(array->window + length, 0, array->row_byte_count * array->row_limit - length);
    array->is_loaded = TRUE;
}

static JBLOCKARRAY access_array(
    j_common_ptr jpeg, jvirt_barray_ptr pointer, JDIMENSION start, JDIMENSION row_count, boolean is_writable) {
    spooled_array *array = (spooled_array *)pointer;
    if (!array->window || row_count > array->access_limit || row_count > array->row_count ||
        start > array->row_count - row_count) {
        fail_access(jpeg);
    }
    JDIMENSION end = start + row_count;
    if (!array->is_loaded || start < array->start || end > array->start + array->row_limit) {
        if (array->is_loaded) save(jpeg, array);
        // When moving down, the window starts at the rows; when moving up, it ends there.
        JDIMENSION lower = start;
        if (array->is_loaded && start < array->start) lower = end > array->row_limit ? end - array->row_limit : 0;
        if (lower > array->row_count - array->row_limit) lower = array->row_count - array->row_limit;
        load(jpeg, array, lower);
    }
    if (is_writable) {
        array->is_changed = TRUE;
        if (end > array->used_row_count) array->used_row_count = end;
    }
    return array->rows + (start - array->start);
}

void cwi_jpeg_spool_to(j_decompress_ptr jpeg, int descriptor) {
    cwi_jpeg_spool *spool = cwi_jpeg_spool_of((j_common_ptr)jpeg);
    spool->descriptor = descriptor;
    struct stat status;
    spool->fixed_length = fstat(descriptor, &status) == 0 ? status.st_size : 0;
    spool->realize_virt_arrays = jpeg->mem->realize_virt_arrays;
    jpeg->mem->request_virt_barray = request_array;
    jpeg->mem->realize_virt_arrays = realize_arrays;
    jpeg->mem->access_virt_barray = access_array;
}

static JDIMENSION rounded_up(JDIMENSION value, JDIMENSION multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

// As requested by jinit_d_coef_controller.
static size_t row_byte_count(const jpeg_component_info *component) {
    return sizeof(JBLOCK) * rounded_up(component->width_in_blocks, (JDIMENSION)component->h_samp_factor);
}

static JDIMENSION row_count(const jpeg_component_info *component) {
    return rounded_up(component->height_in_blocks, (JDIMENSION)component->v_samp_factor);
}

size_t cwi_jpeg_spool_window_byte_count(j_decompress_ptr jpeg) {
    size_t sum = 0;
    if (!jpeg_has_multiple_scans(jpeg)) return 0;
    for (int index = 0; index < jpeg->num_components; index++) {
        const jpeg_component_info *component = jpeg->comp_info + index;
        JDIMENSION access_limit = access_factor * (JDIMENSION)component->v_samp_factor;
        size_t row = row_byte_count(component);
        sum += row * window_row_count(row, row_count(component), access_limit);
    }
    return sum;
}

size_t cwi_jpeg_coefficient_byte_count(j_decompress_ptr jpeg) {
    size_t sum = 0;
    if (!jpeg_has_multiple_scans(jpeg)) return 0;
    for (int index = 0; index < jpeg->num_components; index++) {
        const jpeg_component_info *component = jpeg->comp_info + index;
        sum += row_byte_count(component) * row_count(component);
    }
    return sum;
}
