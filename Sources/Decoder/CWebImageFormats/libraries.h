// The libraries of all formats that the program is built with.

#ifndef CWEBIMAGE_FORMATS_LIBRARIES_H
#define CWEBIMAGE_FORMATS_LIBRARIES_H

#include <CWebImageLibrary.h>

extern cwi_library cwi_avif_library, cwi_heif_library, cwi_jxl_library, cwi_tiff_library, cwi_jp2_library, cwi_svg_library;

#endif
