#include "words.h"

bool cwi_changed_columns(const uint8_t *before, const uint8_t *after, size_t count, size_t *first, size_t *end) {
    if (memcmp(before, after, count * 4) == 0) return false;
    size_t left = 0, right = count;
    while (load(before, left) == load(after, left)) left++;
    while (load(before, right - 1) == load(after, right - 1)) right--;
    *first = left;
    *end = right;
    return true;
}

static inline bool is_cleared(const uint8_t *before, const uint8_t *after, size_t index) {
    return load(after, index) == 0 && load(before, index) != 0;
}

bool cwi_cleared_columns(const uint8_t *before, const uint8_t *after, size_t count, size_t *first, size_t *end) {
    if (memcmp(before, after, count * 4) == 0) return false;
    size_t left = 0, right = count;
    while (left < count && !is_cleared(before, after, left)) left++;
    if (left == count) return false;
    while (!is_cleared(before, after, right - 1)) right--;
    *first = left;
    *end = right;
    return true;
}

FOR_EVERY_PROCESSOR
bool cwi_copy_changes(
    const uint8_t *before, const uint8_t *after, uint8_t *changes, size_t count, size_t *unchanged_count) {
    uint32_t unchanged = 0, lost = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t old = load(before, i), new = load(after, i), mask = old == new ? 0 : UINT32_MAX;
        store(changes, i, new & mask);
        unchanged += mask == 0;
        lost |= mask & (uint32_t)(new >> 24 != 0xFF) & (uint32_t)(old != 0);
    }
    *unchanged_count = unchanged;
    return lost == 0;
}
