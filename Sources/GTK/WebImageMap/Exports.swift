@_exported public import WebImageGTK
