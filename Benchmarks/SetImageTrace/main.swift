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

/// Returns once `picture` shows the image at `url`, and ends the program if the load fails.
@MainActor func show(_ url: String, in picture: WebPicture) {
    final class Box { var result: Result<WebImageResponse, WebImageError>? }
    let box = Box()
    picture.setImage(url, completion: { box.result = $0 })
    while box.result == nil { g_main_context_iteration(nil, gboolean(1)) }
    switch box.result {
    case .success(let response): print("\(url): \(response.origin)")
    case .failure(let error):
        print("\(url): \(error)")
        exit(1)
    case nil: exit(1)
    }
}

guard gtk_init_check() != 0 else {
    print("SetImageTrace needs a display: run it under Scripts/headless.")
    exit(1)
}
MainLoop.install()
let urls = CommandLine.arguments.dropFirst()
let pictures = urls.map { _ in WebPicture() }
for (url, picture) in zip(urls, pictures).dropLast() {
    show(url, in: picture)
    settle(1)
}
guard let url = urls.last, let picture = pictures.last else { exit(1) }
trace_begin()
show(url, in: picture)
// A memory hit ends within the call.
if getenv("TRACE_SYNCHRONOUS") == nil { settle(1) }
trace_end()
