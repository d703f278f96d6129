import Glibc

if CommandLine.arguments.contains("--help") {
    print(GalleryArguments.help)
    exit(0)
}
do {
    let arguments = try GalleryArguments(parsing: CommandLine.arguments)
    exit(Gallery(arguments: arguments).run())
} catch {
    complain("\(error.reason)\nTry 'Gallery --help'.")
    exit(2)
}
