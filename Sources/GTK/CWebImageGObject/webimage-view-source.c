#include "view-private.h"

// What a view shows in place of an address.

/**
 * web_image_view_get_file:
 * @self: a view
 *
 * Returns the file that is shown.
 *
 * Returns: (transfer none) (nullable): the file
 *
 * Since: 0.3
 */
GFile *web_image_view_get_file(WebImageView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_VIEW(self), NULL);
    ImageSlot *slot = image_slot_of(self);
    return slot->request == NULL ? NULL : web_image_request_get_file(slot->request);
}

/**
 * web_image_view_set_file:
 * @self: a view
 * @file: (nullable): a file that the program or its user has chosen
 *
 * Sets the file to show, in place of an address, bytes or a stream.
 *
 * Since: 0.3
 */
void web_image_view_set_file(WebImageView *self, GFile *file) {
    g_return_if_fail(WEB_IMAGE_IS_VIEW(self));
    g_object_set(self, "file", file, NULL);
}

/**
 * web_image_view_get_bytes:
 * @self: a view
 *
 * Returns the file in memory that is shown.
 *
 * Returns: (transfer none) (nullable): the bytes
 *
 * Since: 0.3
 */
GBytes *web_image_view_get_bytes(WebImageView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_VIEW(self), NULL);
    ImageSlot *slot = image_slot_of(self);
    return slot->request == NULL ? NULL : web_image_request_get_bytes(slot->request);
}

/**
 * web_image_view_set_bytes:
 * @self: a view
 * @bytes: (nullable): the file of an image
 *
 * Sets the file in memory to show, in place of an address, a file or a stream.
 *
 * Since: 0.3
 */
void web_image_view_set_bytes(WebImageView *self, GBytes *bytes) {
    g_return_if_fail(WEB_IMAGE_IS_VIEW(self));
    g_object_set(self, "bytes", bytes, NULL);
}

/**
 * web_image_view_get_stream:
 * @self: a view
 *
 * Returns the stream whose image is shown.
 *
 * Returns: (transfer none) (nullable): the stream
 *
 * Since: 0.3
 */
GInputStream *web_image_view_get_stream(WebImageView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_VIEW(self), NULL);
    ImageSlot *slot = image_slot_of(self);
    return slot->request == NULL ? NULL : web_image_request_get_stream(slot->request);
}

/**
 * web_image_view_set_stream:
 * @self: a view
 * @stream: (nullable): a stream with the file of an image
 *
 * Sets the stream whose image to show, in place of an address, a file or bytes.
 *
 * Since: 0.3
 */
void web_image_view_set_stream(WebImageView *self, GInputStream *stream) {
    g_return_if_fail(WEB_IMAGE_IS_VIEW(self));
    g_object_set(self, "stream", stream, NULL);
}

/**
 * web_image_view_get_identifier:
 * @self: a view
 *
 * Returns the name of bytes or a stream in the cache in memory.
 *
 * Returns: (nullable): the name
 *
 * Since: 0.3
 */
const char *web_image_view_get_identifier(WebImageView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_VIEW(self), NULL);
    ImageSlot *slot = image_slot_of(self);
    return slot->request == NULL ? NULL : web_image_request_get_identifier(slot->request);
}

/**
 * web_image_view_set_identifier:
 * @self: a view
 * @identifier: (nullable): the name
 *
 * Sets the name of bytes or a stream in the cache in memory.
 *
 * Since: 0.3
 */
void web_image_view_set_identifier(WebImageView *self, const char *identifier) {
    g_return_if_fail(WEB_IMAGE_IS_VIEW(self));
    g_object_set(self, "identifier", identifier, NULL);
}
