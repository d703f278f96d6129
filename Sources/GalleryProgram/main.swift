import Gallery
import Glibc

exit(GalleryApplication.main(CommandLine.arguments))
