internal import CWebImageGObject
internal import CWebImageGTK
internal import WebImage

/// Processors that are applied in this order. C code has one handle for them.
final class ProcessorChain: Handle, Sendable {
    let processors: [ImageProcessor]

    init(_ processors: [ImageProcessor]) { self.processors = processors }
    convenience init(_ processor: ImageProcessor) { self.init([processor]) }
    convenience init(joining chains: [ProcessorChain]) { self.init(chains.flatMap(\.processors)) }
}

@c @implementation
func webimage_bridge_processor_resize(_ width: CInt, _ height: CInt, _ fit: GtkContentFit) -> OpaquePointer {
    ProcessorChain(.resize(to: .pixels(width: width, height: height), fit: fit)).retainedHandle
}

@c @implementation
func webimage_bridge_processor_rounded(_ radius: Double) -> OpaquePointer {
    ProcessorChain(.roundedCorners(radius: radius)).retainedHandle
}

@c @implementation
func webimage_bridge_processor_circle() -> OpaquePointer { ProcessorChain(.circle()).retainedHandle }

@c @implementation
func webimage_bridge_processor_blur(_ radius: Double) -> OpaquePointer {
    ProcessorChain(.blur(radius: radius)).retainedHandle
}

@c @implementation
func webimage_bridge_processor_grayscale() -> OpaquePointer { ProcessorChain(.grayscale()).retainedHandle }

@c @implementation
func webimage_bridge_processor_tint(
    _ red: Double, _ green: Double, _ blue: Double, _ alpha: Double
) -> OpaquePointer {
    ProcessorChain(.tint(Color(red: red, green: green, blue: blue, alpha: alpha))).retainedHandle
}

@c @implementation
func webimage_bridge_processor_chain(
    _ processors: UnsafePointer<OpaquePointer>?, _ count: gsize
) -> OpaquePointer {
    let chains = UnsafeBufferPointer(start: processors, count: Int(count)).map(ProcessorChain.of)
    return ProcessorChain(joining: chains).retainedHandle
}

@c @implementation
func webimage_bridge_processor_text(_ processor: OpaquePointer) -> UnsafeMutablePointer<CChar> {
    g_strdup(ProcessorChain.of(processor).processors.map(\.identifier.description).joined(separator: ","))
}

extension TargetSize {
    /// A size in which 0 and less stand for no limit.
    static func pixels(width: CInt, height: CInt) -> TargetSize {
        .pixels(width: width > 0 ? Int(width) : nil, height: height > 0 ? Int(height) : nil)
    }
}

extension ImageProcessor {
    /// Resizes images to a box. `SCALE_DOWN` does not enlarge.
    static func resize(to size: TargetSize, fit: GtkContentFit) -> ImageProcessor {
        switch fit {
        case GTK_CONTENT_FIT_COVER: .resize(toFill: size)
        case GTK_CONTENT_FIT_FILL: .resize(to: size, mode: .stretch)
        case GTK_CONTENT_FIT_SCALE_DOWN: .resize(to: size, allowsUpscaling: false)
        default: .resize(to: size)
        }
    }
}
