/// The library's own processors.
public enum ImageProcessors {}
