// libtiff's functions. Only processes for TIFF load it.

#ifndef CWEBIMAGE_FORMATS_TIFF_LIBRARY_H
#define CWEBIMAGE_FORMATS_TIFF_LIBRARY_H

#include <CWebImageLibrary.h>

#define CWI_TIFF_FUNCTIONS(F) \
    F(TIFFClientOpenExt) F(TIFFClose) F(TIFFComputeStrip) F(TIFFComputeTile) F(TIFFDefaultStripSize) F(TIFFFlush)      \
    F(TIFFGetField) F(TIFFGetFieldDefaulted) F(TIFFGetStrileByteCount) F(TIFFGetStrileOffset) F(TIFFIsCODECConfigured) \
    F(TIFFOpenOptionsAlloc) F(TIFFOpenOptionsFree) F(TIFFOpenOptionsSetErrorHandlerExtR)                               \
    F(TIFFOpenOptionsSetMaxSingleMemAlloc) F(TIFFOpenOptionsSetWarningHandlerExtR) F(TIFFRGBAImageBegin)               \
    F(TIFFRGBAImageEnd) F(TIFFRGBAImageGet) F(TIFFRGBAImageOK) F(TIFFReadEncodedStrip) F(TIFFReadEncodedTile)          \
    F(TIFFSetField) F(TIFFSetSubDirectory) F(TIFFStripSize) F(TIFFTileSize) F(TIFFWriteScanline)

CWI_TIFF_FUNCTIONS(CWI_REDIRECT)

#include <tiffio.h>

#endif
