// One import gives users the whole library.
@_exported public import WebImageAnimation
@_exported public import WebImageCaching
@_exported public import WebImageCoding
@_exported public import WebImageCore
@_exported public import WebImageIsolation
@_exported public import WebImageLoading
@_exported public import WebImageProcessing
