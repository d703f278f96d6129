import FoundationEssentials
import WebImageCaching
import WebImageLoading

extension ImageCache.OriginalChange {
    /// The change that puts `data` where `placement` wants it.
    init(_ placement: ResponsePlacement, data: Data) {
        self.init((data, placement.metadata.encoded), removed: placement.removed)
        if let (body, key) = placement.displaced {
            let attributes = DiskCache.Attributes(
                expiration: body.expires.map { .date($0) } ?? .never, extendedData: body.extendedData,
                responseMetadata: body.metadata)
            displaced = (body.data, attributes, key)
        }
    }
}
