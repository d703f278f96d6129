// The names of files have the version of the headers' binary interface, which most headers do not tell: a library with another one needs a
// line here.

#include "libraries.h"

#define TEXT(number) TEXT_OF(number)
#define TEXT_OF(number) #number

#ifndef CWI_WITHOUT_AVIF
#include "avif_library.h"
_Static_assert(AVIF_VERSION >= 110000 && AVIF_VERSION < 2000000, "the version of libavif's file is unknown");
#if AVIF_VERSION >= 1000000
#define AVIF_FILE_VERSION "16"
#else
#define AVIF_FILE_VERSION "15"
#endif
CWI_LIBRARY(
    cwi_avif_library, CWI_AVIF_FUNCTIONS, .files = {"libavif.so." AVIF_FILE_VERSION},
    .package = "libavif" AVIF_FILE_VERSION)
#endif

#ifndef CWI_WITHOUT_HEIF
#include "heif_library.h"
_Static_assert(LIBHEIF_NUMERIC_VERSION >> 24 == 1, "the version of libheif's file is unknown");
CWI_LIBRARY(cwi_heif_library, CWI_HEIF_FUNCTIONS, .files = {"libheif.so.1"}, .package = "libheif1")
#endif

#ifndef CWI_WITHOUT_JXL
#include "jxl_library.h"
_Static_assert(JPEGXL_MAJOR_VERSION == 0, "the version of libjxl's files is unknown");
#define JXL_FILE_VERSION "0." TEXT(JPEGXL_MINOR_VERSION)
CWI_LIBRARY(
    cwi_jxl_library, CWI_JXL_FUNCTIONS, .files = {"libjxl.so." JXL_FILE_VERSION, "libjxl_threads.so." JXL_FILE_VERSION},
    .package = "libjxl" JXL_FILE_VERSION)
#endif

#ifndef CWI_WITHOUT_TIFF
#include "tiff_library.h"
_Static_assert(TIFFLIB_MAJOR_VERSION == 4 && TIFFLIB_MINOR_VERSION >= 5, "the version of libtiff's file is unknown");
CWI_LIBRARY(cwi_tiff_library, CWI_TIFF_FUNCTIONS, .files = {"libtiff.so.6"}, .package = "libtiff6")
#endif

#ifndef CWI_WITHOUT_JP2
#include "jp2_library.h"
_Static_assert(OPJ_VERSION_MAJOR == 2, "the version of OpenJPEG's file is unknown");
CWI_LIBRARY(cwi_jp2_library, CWI_JP2_FUNCTIONS, .files = {"libopenjp2.so.7"}, .package = "libopenjp2-7")
#endif

#ifndef CWI_WITHOUT_SVG
#include "svg_library.h"
_Static_assert(LIBRSVG_MAJOR_VERSION == 2, "the version of librsvg's file is unknown");
CWI_LIBRARY(cwi_svg_library, CWI_SVG_FUNCTIONS, .files = {"librsvg-2.so.2"}, .package = "librsvg2-2")
#endif
