internal import WebImageCore

/// Which images are decoded in processes of their own.
///
/// ```swift
/// var configuration = WebImageManager.Configuration()
/// configuration.isolation = .allFormats.requiring([.systemCallFilter])
/// let manager = WebImageManager(configuration: configuration)
/// ```
///
/// | policy | decoded in other processes | decoded in this process |
/// |---|---|---|
/// | ``libraryFormats`` | AVIF, HEIC, JPEG XL, TIFF, JPEG 2000, SVG | JPEG, PNG, GIF, WebP, BMP, ICO, ICNS, PNM, QOI |
/// | ``allFormats`` | all of these | none |
///
/// Without a decoder process, a format that is isolated fails with ``WebImageError/isolation(format:reason:url:)``. It is never
/// decoded in this process instead. Custom decoders are code of the program, and are never isolated.
public struct IsolationPolicy: Sendable, Hashable {
    let isolatesAllFormats: Bool
    /// The layers without which nothing is decoded.
    private(set) var layers: Set<SandboxLayer> = []

    /// Isolates the formats that large libraries decode, which are attacked most. This is the default.
    public static let libraryFormats = IsolationPolicy(isolatesAllFormats: false)
    /// Isolates all formats.
    public static let allFormats = IsolationPolicy(isolatesAllFormats: true)

    /// Returns this policy with layers of the sandbox that must hold. Where one does not, the formats that are isolated fail with
    /// ``WebImageError/IsolationFailure/missingLayers(_:)``.
    public func requiring(_ layers: Set<SandboxLayer>) -> IsolationPolicy {
        var policy = self
        policy.layers.formUnion(layers)
        return policy
    }

    func isolates(_ format: ImageFormat) -> Bool {
        isolatesAllFormats || ImageFormat.ofLibraries.contains(format)
    }
}
