#ifndef CGALLERY_H
#define CGALLERY_H

// What Swift cannot call: GNU's functions, and those of libjpeg, which reports errors with longjmp.

// Renames a file unless the new name is in use. Returns the error number, 0 on success.
int gallery_rename_to_unused_name(const char *file, const char *place);

#endif
