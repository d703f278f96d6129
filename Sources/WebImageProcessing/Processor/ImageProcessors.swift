/// The library's own processors.
///
/// Where a processor is expected they are written with a leading dot: `.resize(to: PointSize(width: 48, height: 48))`.
public enum ImageProcessors {}
