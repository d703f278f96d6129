// OpenJPEG's functions. Only processes for JPEG 2000, and for icons that may contain it, load it.

#ifndef CWEBIMAGE_FORMATS_JP2_LIBRARY_H
#define CWEBIMAGE_FORMATS_JP2_LIBRARY_H

#include <CWebImageLibrary.h>

#define CWI_JP2_FUNCTIONS(F) \
    F(opj_codec_set_threads) F(opj_create_compress) F(opj_create_decompress) F(opj_decode)                             \
    F(opj_decoder_set_strict_mode) F(opj_destroy_codec) F(opj_encode) F(opj_end_compress) F(opj_end_decompress)        \
    F(opj_image_create) F(opj_image_destroy) F(opj_read_header) F(opj_set_decode_area)                                 \
    F(opj_set_decoded_resolution_factor) F(opj_set_default_decoder_parameters) F(opj_set_default_encoder_parameters)   \
    F(opj_set_error_handler) F(opj_set_info_handler) F(opj_set_warning_handler) F(opj_setup_decoder)                   \
    F(opj_setup_encoder) F(opj_start_compress) F(opj_stream_create) F(opj_stream_destroy)                              \
    F(opj_stream_set_read_function) F(opj_stream_set_seek_function) F(opj_stream_set_skip_function)                    \
    F(opj_stream_set_user_data) F(opj_stream_set_user_data_length) F(opj_stream_set_write_function)

CWI_JP2_FUNCTIONS(CWI_REDIRECT)

#include <openjpeg.h>

#endif
