import CWebImageGTK
import CWebImageTrace
import Glibc
import WebImageGTK

// SetImageTrace URL...: shows each URL in a view of its own, one after the other. `Scripts/trace-set-image` runs it
// under callgrind and counts what the last `setImage` crosses.

/// Runs the main loop for `seconds`, so that work which follows the end of a load, such as writing to the disk cache,
/// ends too.
@MainActor func settle(_ seconds: Double) {
    let end = g_get_monotonic_time() + gint64(seconds * 1e6)
    while g_get_monotonic_time() < end {
        if g_main_context_iteration(nil, gboolean(0)) == 0 { usleep(1000) }
    }
}

/// Loads `url` into `picture` and returns the result.
@MainActor func load(_ url: String, in picture: WebPicture) -> Result<WebImageResponse, WebImageError> {
    picture.setImage(url, completion: { result.value = $0 })
    while true {
        if let ended = result.value {
            result.value = nil
            return ended
        }
        g_main_context_iteration(nil, gboolean(1))
    }
}

/// Prints where the image at `url` came from, and ends the program if there is none.
@MainActor func report(_ result: Result<WebImageResponse, WebImageError>, of url: String) {
    switch result {
    case .success(let response): print("\(url): \(response.origin)")
    case .failure(let error):
        print("\(url): \(error)")
        exit(1)
    }
}

/// The result of the load in progress.
@MainActor final class Box { var value: Result<WebImageResponse, WebImageError>? }
let result = Box()

guard gtk_init_check() != 0 else {
    print("SetImageTrace needs a display: run it under Scripts/headless.")
    exit(1)
}
MainLoop.install()
let urls = CommandLine.arguments.dropFirst()
let pictures = urls.map { _ in WebPicture() }
for (url, picture) in zip(urls, pictures).dropLast() {
    report(load(url, in: picture), of: url)
    settle(1)
}
guard let url = urls.last, let picture = pictures.last else { exit(1) }
let isSynchronous = getenv("TRACE_SYNCHRONOUS") != nil
trace_begin()
let last = load(url, in: picture)
// A memory hit ends within the call.
if !isSynchronous { settle(1) }
trace_end()
report(last, of: url)
