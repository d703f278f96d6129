public import FoundationEssentials
import Glibc

/// Debian's `curl` program, for a second opinion.
public enum Curl {
    /// Runs it to its end, blocking; its exit status and what it wrote to standard output.
    public static func run(_ arguments: String...) throws -> (status: Int, output: Data) {
        let process = try ChildProcess(["curl", "--silent", "--max-time", "30", "--noproxy", "*"] + arguments)
        let output = process.readAll()
        return (process.stop(), output)
    }
}
