#ifndef CWEBIMAGE_JPEG_H
#define CWEBIMAGE_JPEG_H
#endif
