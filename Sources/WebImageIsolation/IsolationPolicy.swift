/// Which images are decoded in processes of their own.
///
/// ```swift
/// var configuration = WebImageManager.Configuration.server
/// configuration.isolation = .required
/// let manager = WebImageManager(configuration: configuration)
/// ```
///
/// | policy | isolated | if there is no decoder process |
/// |---|---|---|
/// | ``automatic`` | AVIF, HEIC, JPEG XL, TIFF, JPEG 2000, SVG | decodes in this process, with one warning |
/// | ``always`` | all formats of this library | decodes in this process, with one warning |
/// | ``never`` | none | |
/// | ``required``, ``required(_:)`` | all formats of this library | fails with ``WebImageError/isolation(format:reason:url:)`` |
///
/// Custom decoders are code of the program, and are never isolated.
public struct IsolationPolicy: Sendable, Hashable {
    enum Scope: Sendable { case none, libraries, all }

    let scope: Scope
    /// The layers without which nothing is decoded; `nil` if even a process is not needed.
    let layers: Set<SandboxLayer>?

    /// Isolates the formats of the product `WebImageFormats`, whose libraries are large and are attacked most.
    public static let automatic = IsolationPolicy(scope: .libraries, layers: nil)
    /// Isolates all formats.
    public static let always = IsolationPolicy(scope: .all, layers: nil)
    /// Decodes all images in this process.
    public static let never = IsolationPolicy(scope: .none, layers: nil)
    /// Isolates all formats, in whatever sandbox the kernel gives, and decodes nothing without a decoder process.
    public static let required = required([])
    /// Isolates all formats, and decodes nothing without these layers.
    public static func required(_ layers: Set<SandboxLayer>) -> IsolationPolicy {
        IsolationPolicy(scope: .all, layers: layers)
    }
}
