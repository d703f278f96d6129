/// A layer of the sandbox of decoder processes. Each holds without the others.
public enum SandboxLayer: String, Codable, Sendable, Hashable, CaseIterable {
    // The order is that of `cwi_layer` in CWebImageSandbox.

    /// A user of its own, who owns nothing outside (user namespace).
    case userNamespace
    /// No network interface (network namespace).
    case networkNamespace
    /// No shared memory and no message queue of others (IPC namespace).
    case ipcNamespace
    /// No other process can be seen (PID namespace).
    case processNamespace
    /// The file system is an empty directory that cannot be written (mount namespace).
    case emptyFileSystem
    /// No capability.
    case noCapabilities
    /// Limits on memory, processor time and descriptors; no file can be written.
    case resourceLimits
    /// A limit on threads, which does not hold for root where no other user can be had.
    case threadLimit
    /// No program can give it rights.
    case noNewPrivileges
    /// No file can be opened, and, by version, no TCP connection be made (Landlock).
    case landlock
    /// No abstract socket and no process outside can be reached (Landlock from version 6 on).
    case landlockScopes
    /// Only the system calls that decoders need (seccomp).
    case systemCallFilter
}

/// A decoder process's report about its sandbox.
package struct SandboxReport: Codable, Sendable, Equatable {
    package var layers: Set<SandboxLayer>
    /// Why the other layers do not hold: error numbers of the system.
    package var errors: [SandboxLayer: Int32]

    package init(layers: Set<SandboxLayer>, errors: [SandboxLayer: Int32]) {
        self.layers = layers
        self.errors = errors
    }
}
