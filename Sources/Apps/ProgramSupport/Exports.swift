@_exported public import SystemText
