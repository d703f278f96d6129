internal import CWebImageDeflate

/// Compressed data of unknown length, which a few bytes can make as long as one bears.
enum ZlibStream {
    /// What `data` unpacks to; `nil` for damaged data, and for more than `byteLimit` bytes.
    static func unpacked(_ data: RawSpan, byteLimit: Int) -> [UInt8]? {
        guard let decompressor = libdeflate_alloc_decompressor() else { return nil }
        defer { libdeflate_free_decompressor(decompressor) }
        // libdeflate wants room for all at once. Trying again with more costs no more than the last try in all.
        var capacity = min(byteLimit, max(4096, data.byteCount * 4))
        while true {
            var status = LIBDEFLATE_BAD_DATA
            let output = [UInt8](unsafeUninitializedCapacity: capacity) { output, count in
                data.withUnsafeBytes { input in
                    status = libdeflate_zlib_decompress(
                        decompressor, input.baseAddress, input.count, output.baseAddress, capacity, &count)
                }
                if status != LIBDEFLATE_SUCCESS { count = 0 }
            }
            if status == LIBDEFLATE_SUCCESS { return output }
            guard status == LIBDEFLATE_INSUFFICIENT_SPACE, capacity < byteLimit else { return nil }
            capacity = min(byteLimit, capacity * 4)
        }
    }
}
