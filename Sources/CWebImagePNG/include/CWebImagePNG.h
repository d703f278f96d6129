#ifndef CWEBIMAGE_PNG_H
#define CWEBIMAGE_PNG_H
#endif
