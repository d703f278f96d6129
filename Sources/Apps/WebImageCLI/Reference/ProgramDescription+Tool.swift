internal import CommandReference

extension ProgramDescription {
    static let webimage = ProgramDescription(
        name: "webimage", tagline: "load, describe, convert and compare images",
        text: """
            Loads images from servers and files, caches them, and converts them. Files can be '-' for standard input and
            output.

            Results go to standard output, errors and warnings to standard error.

            Control characters in names and in texts of servers are printed as \\n, \\t or \\u001B, as in JSON, and
            passwords in URLs are left out. Files may have names that are not UTF-8: \\xFF stands for a byte, and in JSON
            pathBase64 is the exact path of a written file.
            """,
        statuses: [
            ("0", "Everything succeeded."),
            ("1", "Something failed; standard error has the reason. Of 'webimage compare': the images differ."),
            (
                "2",
                "The arguments are invalid, and nothing was done. Of 'webimage compare': the images cannot be compared."
            ),
            ("128+N", "Signal N ended the run."),
        ],
        sections: [
            (
                "ENVIRONMENT",
                [
                    (
                        "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN",
                        "The keys of the S3 store of '--shared'."
                    ),
                    ("AWS_REGION, AWS_ENDPOINT_URL", "The region and the endpoint of an S3URL that states none."),
                    ("AWS_CA_BUNDLE", "A PEM file with the authorities that sign certificates of the S3 store."),
                    (
                        "WEBIMAGE_SHARED_SECRET",
                        "The secret of all machines that use the shared cache; objects that were written without it are not used."
                    ),
                    (
                        "http_proxy, https_proxy, all_proxy, no_proxy",
                        "The proxies to use, and the hosts that are reached without one."
                    ),
                    ("XDG_CACHE_HOME", "The directory of caches, instead of ~/.cache."),
                ]
            ),
            (
                "FILES",
                [
                    ("~/.cache/webimage/images", "The disk cache. 'webimage cache' lists and removes its entries."),
                    (
                        "~/.cache/webimage/images/files",
                        "The files of 'webimage file', until they were not used for 7 days, or take more than 256 MiB."
                    ),
                    ("~/.cache/thumbnails", "The thumbnails of file managers, for 'webimage thumbnail'."),
                ]
            ),
            (
                "EXAMPLES",
                [
                    (
                        "webimage get --explain http://127.0.0.1:8080/photo.jpg",
                        "Load an image into the cache, and explain which caches and servers were used, and why."
                    ),
                    (
                        "webimage get --size 400x --format webp --output thumbnails/ *.jpg",
                        "Write thumbnails that are 400 pixels wide into a directory."
                    ),
                    (
                        "webimage file --size 300 --format png https://example.org/cover.jpg",
                        "Print the path of a small PNG of an image, for a program that shows files."
                    ),
                    ("webimage info --json photo.heic", "Print the properties of a file for a program to read."),
                    (
                        "webimage convert --max-bytes 200K photo.png photo.avif",
                        "Convert an image, and lower its quality until the file has at most 200 KiB."
                    ),
                    (
                        "webimage convert --recursive photos --size 1600 --format webp --output 'web/{folder}/{name}-{width}.{format}'",
                        "Convert all images in a folder, and name the results by their width."
                    ),
                    (
                        "webimage convert portrait.jpg avatar.png --size 300x300 --mode fill --gravity smart",
                        "Make a square that keeps what people look at."
                    ),
                    ("webimage compare before.png after.webp", "Tell how much the images differ."),
                    ("webimage hash --similar 10 --recursive photos", "List images that look alike."),
                    ("webimage sheet photos/*.jpg sheet.jpg", "Make a contact sheet with names."),
                    (
                        "webimage animate --duration 0.5 frame-*.png clip.webp",
                        "Make an animation that shows each frame for half a second."
                    ),
                    (
                        "webimage thumbnail photo.jpg ~/.cache/thumbnails large",
                        "Make the thumbnail that file managers show."
                    ),
                    ("webimage cache trim 500M", "Remove the least recently used entries beyond 500 MiB."),
                ]
            ),
        ])
}
