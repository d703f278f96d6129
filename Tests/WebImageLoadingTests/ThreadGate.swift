import Glibc

/// Holds up a loader's thread until the test is ready for it.
final class ThreadGate: @unchecked Sendable {
    // `@unchecked`: a POSIX semaphore is made to be shared; its memory stays put until the end.
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() { sem_init(semaphore, 0, 0) }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    /// Waits until it is open, then leaves it so.
    func wait() {
        sem_wait(semaphore)
        sem_post(semaphore)
    }

    func open() { sem_post(semaphore) }
}
