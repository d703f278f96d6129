#include "view-private.h"

// How a view loads its image.

/**
 * web_image_view_get_headers:
 * @self: a view
 *
 * Returns the header fields of the request to the server.
 *
 * Returns: (transfer none) (nullable) (array zero-terminated=1): the fields
 *
 * Since: 0.3
 */
const char *const *web_image_view_get_headers(WebImageView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_VIEW(self), NULL);
    ImageSlot *slot = image_slot_of(self);
    return slot->request == NULL ? NULL : web_image_request_get_headers(slot->request);
}

/**
 * web_image_view_set_headers:
 * @self: a view
 * @headers: (nullable) (array zero-terminated=1): fields such as `Authorization: Bearer …`
 *
 * Sets the header fields of the request to the server.
 *
 * Since: 0.3
 */
void web_image_view_set_headers(WebImageView *self, const char *const *headers) {
    g_return_if_fail(WEB_IMAGE_IS_VIEW(self));
    g_object_set(self, "headers", headers, NULL);
}

/**
 * web_image_view_get_processor:
 * @self: a view
 *
 * Returns what changes the image after decoding.
 *
 * Returns: (transfer none) (nullable): the processor
 *
 * Since: 0.3
 */
WebImageProcessor *web_image_view_get_processor(WebImageView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_VIEW(self), NULL);
    ImageSlot *slot = image_slot_of(self);
    return slot->request == NULL ? NULL : web_image_request_get_processor(slot->request);
}

/**
 * web_image_view_set_processor:
 * @self: a view
 * @processor: (nullable): the processor
 *
 * Sets what changes the image after decoding.
 *
 * Since: 0.3
 */
void web_image_view_set_processor(WebImageView *self, WebImageProcessor *processor) {
    g_return_if_fail(WEB_IMAGE_IS_VIEW(self));
    g_object_set(self, "processor", processor, NULL);
}

/**
 * web_image_view_get_processing:
 * @self: a view
 *
 * Returns the processor as a text.
 *
 * Returns: (nullable): the text; %NULL if the processor was not made from one
 *
 * Since: 0.3
 */
const char *web_image_view_get_processing(WebImageView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_VIEW(self), NULL);
    ImageSlot *slot = image_slot_of(self);
    return slot->request == NULL ? NULL : web_image_request_get_processing(slot->request);
}

/**
 * web_image_view_set_processing:
 * @self: a view
 * @processing: (nullable): a text as that of [ctor@Processor.new_from_string]
 *
 * Sets the processor as a text.
 *
 * Since: 0.3
 */
void web_image_view_set_processing(WebImageView *self, const char *processing) {
    g_return_if_fail(WEB_IMAGE_IS_VIEW(self));
    g_object_set(self, "processing", processing, NULL);
}

/**
 * web_image_view_get_priority:
 * @self: a view
 *
 * Returns how urgent the load is while the image is visible.
 *
 * Returns: the priority
 *
 * Since: 0.3
 */
WebImagePriority web_image_view_get_priority(WebImageView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_VIEW(self), WEB_IMAGE_PRIORITY_HIGH);
    ImageSlot *slot = image_slot_of(self);
    return slot->request == NULL ? WEB_IMAGE_PRIORITY_HIGH : web_image_request_get_priority(slot->request);
}

/**
 * web_image_view_set_priority:
 * @self: a view
 * @priority: the priority
 *
 * Sets how urgent the load is while the image is visible.
 *
 * Since: 0.3
 */
void web_image_view_set_priority(WebImageView *self, WebImagePriority priority) {
    g_return_if_fail(WEB_IMAGE_IS_VIEW(self));
    g_object_set(self, "priority", priority, NULL);
}

/**
 * web_image_view_get_cache_policy:
 * @self: a view
 *
 * Returns which of memory, disk and server may answer.
 *
 * Returns: the policy
 *
 * Since: 0.3
 */
WebImageCachePolicy web_image_view_get_cache_policy(WebImageView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_VIEW(self), WEB_IMAGE_CACHE_POLICY_CACHE_FIRST);
    ImageSlot *slot = image_slot_of(self);
    return slot->request == NULL ? WEB_IMAGE_CACHE_POLICY_CACHE_FIRST : web_image_request_get_cache_policy(slot->request);
}

/**
 * web_image_view_set_cache_policy:
 * @self: a view
 * @policy: the policy
 *
 * Sets which of memory, disk and server may answer.
 *
 * Since: 0.3
 */
void web_image_view_set_cache_policy(WebImageView *self, WebImageCachePolicy policy) {
    g_return_if_fail(WEB_IMAGE_IS_VIEW(self));
    g_object_set(self, "cache-policy", policy, NULL);
}

/**
 * web_image_view_get_low_data_uri:
 * @self: a view
 *
 * Returns the address of the same image with fewer bytes.
 *
 * Returns: (nullable): the address
 *
 * Since: 0.3
 */
const char *web_image_view_get_low_data_uri(WebImageView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_VIEW(self), NULL);
    ImageSlot *slot = image_slot_of(self);
    return slot->request == NULL ? NULL : web_image_request_get_low_data_uri(slot->request);
}

/**
 * web_image_view_set_low_data_uri:
 * @self: a view
 * @uri: (nullable): the address
 *
 * Sets the address of the same image with fewer bytes.
 *
 * Since: 0.3
 */
void web_image_view_set_low_data_uri(WebImageView *self, const char *uri) {
    g_return_if_fail(WEB_IMAGE_IS_VIEW(self));
    g_object_set(self, "low-data-uri", uri, NULL);
}

/**
 * web_image_view_get_session:
 * @self: a view
 *
 * Returns the session that loads the image.
 *
 * Returns: (transfer none) (nullable): the session; %NULL for the default session
 *
 * Since: 0.3
 */
WebImageSession *web_image_view_get_session(WebImageView *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_VIEW(self), NULL);
    return image_slot_of(self)->session;
}

/**
 * web_image_view_set_session:
 * @self: a view
 * @session: (nullable): the session; %NULL for the default session
 *
 * Sets the session that loads the image.
 *
 * Since: 0.3
 */
void web_image_view_set_session(WebImageView *self, WebImageSession *session) {
    g_return_if_fail(WEB_IMAGE_IS_VIEW(self));
    g_object_set(self, "session", session, NULL);
}
