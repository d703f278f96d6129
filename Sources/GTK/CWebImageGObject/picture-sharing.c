#include "view-private.h"
#include <webimage/webimage-picture.h>

// Reads what a picture shows: for the clipboard, and for files.

/**
 * web_image_picture_copy_image:
 * @self: a picture
 *
 * Copies what is on display to the clipboard, as a texture and as the address of the image.
 *
 * Returns: %FALSE without an image
 *
 * Since: 0.3
 */
gboolean web_image_picture_copy_image(WebImagePicture *self) {
    g_return_val_if_fail(WEB_IMAGE_IS_PICTURE(self), FALSE);
    ImageSlot *slot = image_slot_of(WEB_IMAGE_VIEW(self));
    GObject *owner = g_object_ref(G_OBJECT(self));
    image_slot_update(slot);
    const gboolean is_copied = slot->handle != NULL && webimage_bridge_slot_copy(slot->handle);
    g_object_unref(owner);
    return is_copied;
}

static gboolean unref_texture(gpointer texture) {
    g_object_unref(texture);
    return G_SOURCE_REMOVE;
}

// The last reference to a texture goes on the main thread, because the renderer tracks textures without a lock.
static void release_texture(gpointer texture) { g_idle_add(unref_texture, texture); }

static void save_texture(GTask *task, gpointer source G_GNUC_UNUSED, gpointer file, GCancellable *cancellable) {
    GError *error = NULL;
    GdkTexture *texture = g_object_get_data(G_OBJECT(task), "texture");
    GBytes *bytes = gdk_texture_save_to_png_bytes(texture);
    gsize length;
    const char *data = g_bytes_get_data(bytes, &length);
    const gboolean is_saved = g_file_replace_contents(
        file, data, length, NULL, FALSE, G_FILE_CREATE_NONE, NULL, cancellable, &error);
    g_bytes_unref(bytes);
    if (is_saved) g_task_return_boolean(task, TRUE);
    else g_task_return_error(task, error);
}

/**
 * web_image_picture_save_image_async:
 * @self: a picture
 * @file: the file, which is replaced
 * @cancellable: (nullable): cancels the operation
 * @callback: (scope async) (nullable): called at the end
 * @user_data: passed to @callback
 *
 * Writes what is on display to a file, as PNG. For the original bytes, use [method@Session.load_bytes_async].
 *
 * Fails with %G_IO_ERROR_NOT_FOUND without an image.
 *
 * Since: 0.3
 */
void web_image_picture_save_image_async(
    WebImagePicture *self, GFile *file, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data) {
    g_return_if_fail(WEB_IMAGE_IS_PICTURE(self));
    g_return_if_fail(G_IS_FILE(file));
    GTask *task = g_task_new(self, cancellable, callback, user_data);
    g_task_set_source_tag(task, web_image_picture_save_image_async);
    g_task_set_task_data(task, g_object_ref(file), g_object_unref);
    GdkPaintable *texture = NULL;
    g_object_get(self, "paintable", &texture, NULL);
    if (texture == NULL) {
        g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_NOT_FOUND, "The picture shows no image");
    } else {
        g_object_set_data_full(G_OBJECT(task), "texture", texture, release_texture);
        g_task_run_in_thread(task, save_texture);
    }
    g_object_unref(task);
}

/**
 * web_image_picture_save_image_finish:
 * @self: a picture
 * @result: a result
 * @error: return location for an error
 *
 * Returns whether the file was written.
 *
 * Returns: %TRUE, or %FALSE with an error
 *
 * Since: 0.3
 */
gboolean web_image_picture_save_image_finish(WebImagePicture *self, GAsyncResult *result, GError **error) {
    g_return_val_if_fail(g_task_is_valid(result, self), FALSE);
    return g_task_propagate_boolean(G_TASK(result), error);
}
