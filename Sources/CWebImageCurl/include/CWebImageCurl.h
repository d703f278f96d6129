#ifndef CWEBIMAGE_CURL_H
#define CWEBIMAGE_CURL_H
#endif
