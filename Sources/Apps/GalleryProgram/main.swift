import Gallery
import Glibc

exit(GalleryApplication.main(GalleryApplication.commandLine))
