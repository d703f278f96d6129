internal import CWebImageSandbox
internal import Glibc
internal import WebImageCoding
internal import WebImageCore
internal import WebImageIsolation

#if WEBIMAGE_FORMATS
    internal import WebImageFormats
#endif

// webimage-decoder: decodes images for programs that use this library, in a process that can do nothing else.

// Swift reads the arguments from /proc, which may be missing.
guard CommandLine.arguments.dropFirst() == ["--serve"] || CommandLine.arguments.isEmpty && Channel.isInherited else {
    switch CommandLine.arguments.dropFirst().first {
    case "--version": print("webimage-decoder \(LibraryVersion.text)")
    default:
        print(
            """
            webimage-decoder \(LibraryVersion.text)

            Decodes images for programs that use swift-web-image, in a sandbox. Such programs start it themselves.
            webimage info --explain shows which layers of the sandbox this system has.
            """)
    }
    exit(0)
}

#if WEBIMAGE_FORMATS
    let registry = FormatLibraries.registry()
    if let format = DecoderKind.ofThisProcess.library {
        FormatLibraries.load(format) { path in cwi_sandbox_offer(path) }
    }
#else
    let registry = CodecRegistry()
#endif
cwi_sandbox_keep_memory()
// Reads files of the system.
_ = DecodingBudget.shared

let report = SandboxReport(
    entered: cwi_sandbox_enter(
        cwi_sandbox_limits(memory_length: 2 << 30, processor_seconds: 3600, thread_count: 256)))
DecoderService(registry, report: report).run()
