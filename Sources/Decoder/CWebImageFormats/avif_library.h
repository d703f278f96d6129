// libavif's functions. Only processes for AVIF load it.

#ifndef CWEBIMAGE_FORMATS_AVIF_LIBRARY_H
#define CWEBIMAGE_FORMATS_AVIF_LIBRARY_H

#include <CWebImageLibrary.h>

#define CWI_AVIF_FUNCTIONS(F) \
    F(avifCodecName) F(avifCropRectConvertCleanApertureBox) F(avifDecoderCreate) F(avifDecoderDestroy)                 \
    F(avifDecoderIsKeyframe) F(avifDecoderNthImage) F(avifDecoderNthImageTiming) F(avifDecoderParse)                   \
    F(avifDecoderSetIOMemory) F(avifDecoderSetSource) F(avifEncoderAddImage) F(avifEncoderCreate)                      \
    F(avifEncoderDestroy) F(avifEncoderFinish) F(avifEncoderSetCodecSpecificOption) F(avifImageCreate)                 \
    F(avifImageDestroy) F(avifImageRGBToYUV) F(avifImageSetMetadataExif) F(avifImageSetMetadataXMP)                    \
    F(avifImageSetProfileICC) F(avifImageYUVToRGB) F(avifRGBImageSetDefaults) F(avifRWDataFree) F(avifResultToString)  \
    F(avifVersion)

CWI_AVIF_FUNCTIONS(CWI_REDIRECT)

#include <avif/avif.h>

#endif
