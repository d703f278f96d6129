import Glibc
#if WEBIMAGE_FORMATS
    import WebImage
    import WebImageFormats
#endif

if CommandLine.arguments.contains("--help") {
    print(GalleryArguments.help)
    exit(0)
}
#if WEBIMAGE_FORMATS
    CodecRegistry.shared.registerFormats()
#endif
do {
    let arguments = try GalleryArguments(parsing: CommandLine.arguments)
    exit(GalleryApplication(arguments: arguments).run())
} catch {
    complain("\(error.reason)\nTry 'Gallery --help'.")
    exit(2)
}
