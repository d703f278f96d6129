#include "image-slot.h"

// The reference of what image-slot.c installs: properties and signals that classes share.

/**
 * WebImagePicture:uri:
 *
 * The address of the image: `https:`, `http:`, `file:` or `data:`. %NULL, the default, and an empty text show no image.
 */

/**
 * WebImagePicture:headers:
 *
 * Header fields of the request to the server, such as `Authorization: Bearer …`; %NULL by default.
 */

/**
 * WebImagePicture:processor:
 *
 * Changes the image after decoding; %NULL by default.
 */

/**
 * WebImagePicture:processing:
 *
 * [property@Picture:processor] as a text, such as `rounded:12,blur:4`; %NULL, the default, if it was not made from one.
 *
 * The text is that of [ctor@Processor.new_from_string]. An invalid one logs a warning, and then no processor applies.
 */

/**
 * WebImagePicture:priority:
 *
 * How urgent the load is while the image is visible; `HIGH` by default. Otherwise it is at most `LOW`.
 */

/**
 * WebImagePicture:cache-policy:
 *
 * Which of memory, disk and server may answer.
 */

/**
 * WebImagePicture:session:
 *
 * The session that loads the image; %NULL, the default, for the default session.
 */

/**
 * WebImagePicture:placeholder:
 *
 * Shown until the image is loaded, and if the load fails; %NULL by default.
 *
 * It takes precedence over the hashes and the color.
 */

/**
 * WebImagePicture:blur-hash:
 *
 * A [BlurHash](https://blurha.sh) that is shown until the image is loaded; %NULL by default.
 */

/**
 * WebImagePicture:thumb-hash:
 *
 * A [ThumbHash](https://evanw.github.io/thumbhash/), in base64, that is shown until the image is loaded; %NULL by default.
 *
 * The BlurHash takes precedence.
 */

/**
 * WebImagePicture:placeholder-color:
 *
 * A color that is shown until the image is loaded; %NULL by default. The hashes take precedence.
 */

/**
 * WebImagePicture:error-paintable:
 *
 * Shown in place of the placeholder if the load fails, such as an icon. It is not enlarged; %NULL by default.
 */

/**
 * WebImagePicture:transition:
 *
 * How an image from disk or network replaces what is on display.
 */

/**
 * WebImagePicture:transition-duration:
 *
 * How long a transition takes, in milliseconds.
 */

/**
 * WebImagePicture:animate:
 *
 * Whether animations play; %TRUE by default.
 */

/**
 * WebImagePicture:loading:
 *
 * Whether the image is being loaded.
 */

/**
 * WebImagePicture:progress:
 *
 * How much of the image has arrived, from 0 to 1; 0 while the length is unknown.
 */

/**
 * WebImagePicture:error:
 *
 * Why the image could not be loaded, of the domain %WEB_IMAGE_ERROR; %NULL if the load has not failed.
 */

/**
 * WebImagePicture:image-width:
 *
 * The width of the image on display in pixels; 0 without an image.
 */

/**
 * WebImagePicture:image-height:
 *
 * The height of the image on display in pixels; 0 without an image.
 */

/**
 * WebImagePicture::loaded:
 * @self: the picture
 *
 * Emitted after the image was loaded and is shown, also from memory.
 */

/**
 * WebImagePicture::failed:
 * @self: the picture
 * @error: why
 *
 * Emitted after a load has failed.
 */

/**
 * WebImagePaintable:uri:
 *
 * The address of the image: `https:`, `http:`, `file:` or `data:`. %NULL, the default, and an empty text show no image.
 */

/**
 * WebImagePaintable:headers:
 *
 * Header fields of the request to the server, such as `Authorization: Bearer …`; %NULL by default.
 */

/**
 * WebImagePaintable:processor:
 *
 * Changes the image after decoding; %NULL by default.
 */

/**
 * WebImagePaintable:processing:
 *
 * [property@Paintable:processor] as a text, such as `rounded:12,blur:4`; %NULL, the default, if it was not made from one.
 *
 * The text is that of [ctor@Processor.new_from_string]. An invalid one logs a warning, and then no processor applies.
 */

/**
 * WebImagePaintable:priority:
 *
 * How urgent the load is while the image is visible; `HIGH` by default. Otherwise it is at most `LOW`.
 */

/**
 * WebImagePaintable:cache-policy:
 *
 * Which of memory, disk and server may answer.
 */

/**
 * WebImagePaintable:session:
 *
 * The session that loads the image; %NULL, the default, for the default session.
 */

/**
 * WebImagePaintable:placeholder:
 *
 * Shown until the image is loaded, and if the load fails; %NULL by default.
 *
 * It takes precedence over the hashes and the color.
 */

/**
 * WebImagePaintable:blur-hash:
 *
 * A [BlurHash](https://blurha.sh) that is shown until the image is loaded; %NULL by default.
 */

/**
 * WebImagePaintable:thumb-hash:
 *
 * A [ThumbHash](https://evanw.github.io/thumbhash/), in base64, that is shown until the image is loaded; %NULL by default.
 *
 * The BlurHash takes precedence.
 */

/**
 * WebImagePaintable:placeholder-color:
 *
 * A color that is shown until the image is loaded; %NULL by default. The hashes take precedence.
 */

/**
 * WebImagePaintable:error-paintable:
 *
 * Shown in place of the placeholder if the load fails, such as an icon. It is not enlarged; %NULL by default.
 */

/**
 * WebImagePaintable:transition:
 *
 * How an image from disk or network replaces what is on display.
 */

/**
 * WebImagePaintable:transition-duration:
 *
 * How long a transition takes, in milliseconds.
 */

/**
 * WebImagePaintable:animate:
 *
 * Whether animations play; %TRUE by default.
 */

/**
 * WebImagePaintable:loading:
 *
 * Whether the image is being loaded.
 */

/**
 * WebImagePaintable:progress:
 *
 * How much of the image has arrived, from 0 to 1; 0 while the length is unknown.
 */

/**
 * WebImagePaintable:error:
 *
 * Why the image could not be loaded, of the domain %WEB_IMAGE_ERROR; %NULL if the load has not failed.
 */

/**
 * WebImagePaintable:image-width:
 *
 * The width of the image on display in pixels; 0 without an image.
 */

/**
 * WebImagePaintable:image-height:
 *
 * The height of the image on display in pixels; 0 without an image.
 */

/**
 * WebImagePaintable::loaded:
 * @self: the paintable
 *
 * Emitted after the image was loaded and is shown, also from memory.
 */

/**
 * WebImagePaintable::failed:
 * @self: the paintable
 * @error: why
 *
 * Emitted after a load has failed.
 */
