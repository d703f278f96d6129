// The functions of libjxl and libjxl_threads. Only processes for JPEG XL load them.

#ifndef CWEBIMAGE_FORMATS_JXL_LIBRARY_H
#define CWEBIMAGE_FORMATS_JXL_LIBRARY_H

#include <CWebImageLibrary.h>
#include <jxl/version.h>

#define JXL_VERSION_AT_LEAST(major, minor) (JPEGXL_NUMERIC_VERSION >= JPEGXL_COMPUTE_NUMERIC_VERSION(major, minor, 0))

#if JXL_VERSION_AT_LEAST(0, 9)
#define CWI_JXL_FUNCTIONS(F) CWI_JXL_OLD_FUNCTIONS(F) F(JxlEncoderSetExtraChannelDistance)
#else
#define CWI_JXL_FUNCTIONS(F) CWI_JXL_OLD_FUNCTIONS(F)
#endif
#define CWI_JXL_OLD_FUNCTIONS(F) \
    F(JxlColorEncodingSetToSRGB) F(JxlDecoderCloseInput) F(JxlDecoderCreate) F(JxlDecoderDestroy)                      \
    F(JxlDecoderExtraChannelBufferSize) F(JxlDecoderFlushImage) F(JxlDecoderGetBasicInfo) F(JxlDecoderGetBoxType)      \
    F(JxlDecoderGetColorAsEncodedProfile) F(JxlDecoderGetColorAsICCProfile) F(JxlDecoderGetExtraChannelInfo)           \
    F(JxlDecoderGetFrameHeader) F(JxlDecoderGetICCProfileSize) F(JxlDecoderImageOutBufferSize)                         \
    F(JxlDecoderProcessInput) F(JxlDecoderReleaseBoxBuffer) F(JxlDecoderRewind) F(JxlDecoderSetBoxBuffer)              \
    F(JxlDecoderSetDecompressBoxes) F(JxlDecoderSetExtraChannelBuffer) F(JxlDecoderSetImageOutBuffer)                  \
    F(JxlDecoderSetInput) F(JxlDecoderSetParallelRunner) F(JxlDecoderSkipFrames) F(JxlDecoderSubscribeEvents)          \
    F(JxlEncoderAddBox) F(JxlEncoderAddImageFrame) F(JxlEncoderCloseBoxes) F(JxlEncoderCloseInput) F(JxlEncoderCreate) \
    F(JxlEncoderDestroy) F(JxlEncoderFrameSettingsCreate) F(JxlEncoderFrameSettingsSetOption)                          \
    F(JxlEncoderInitBasicInfo) F(JxlEncoderInitFrameHeader) F(JxlEncoderProcessOutput) F(JxlEncoderSetBasicInfo)       \
    F(JxlEncoderSetColorEncoding) F(JxlEncoderSetFrameDistance) F(JxlEncoderSetFrameHeader)                            \
    F(JxlEncoderSetFrameLossless) F(JxlEncoderSetICCProfile) F(JxlEncoderSetParallelRunner) F(JxlEncoderUseBoxes)      \
    F(JxlThreadParallelRunner) F(JxlThreadParallelRunnerCreate) F(JxlThreadParallelRunnerDestroy)

CWI_JXL_FUNCTIONS(CWI_REDIRECT)

#include <jxl/decode.h>
#include <jxl/encode.h>
#include <jxl/thread_parallel_runner.h>

#endif
