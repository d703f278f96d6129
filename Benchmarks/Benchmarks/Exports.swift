// One import for all groups.
@_exported public import BenchmarkSupport
