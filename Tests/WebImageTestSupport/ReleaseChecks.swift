import Glibc

/// Checks that take too long for each run of the tests.
package enum ReleaseChecks {
    /// `make release-checks` sets `WEBIMAGE_RELEASE_CHECKS` to 1.
    package static let areRequested = getenv("WEBIMAGE_RELEASE_CHECKS").map { String(cString: $0) } == "1"

    /// Returns `rare` for a release, and `usual` in other runs: the arguments of a test, or a number of rounds.
    package static func choose<Value>(_ usual: Value, forRelease rare: Value) -> Value {
        areRequested ? rare : usual
    }
}
