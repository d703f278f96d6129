import FuzzSupport
import WebImageCoding

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    exercise(PNGDecoder(), with: bytes, count)
}
