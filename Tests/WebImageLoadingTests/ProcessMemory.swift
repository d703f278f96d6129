import FoundationEssentials
import Glibc

/// The memory the process has at the moment, in bytes.
func residentByteCount() -> Int {
    let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    return pages * Int(getpagesize())
}

/// Makes a file of zeros that takes no room on the disk.
func makeSparseFile(_ path: String, byteCount: Int) -> Bool {
    let descriptor = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return ftruncate(descriptor, off_t(byteCount)) == 0
}
