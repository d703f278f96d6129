public import WebImageCaching

extension ImageCaching {
    /// Removes the image of a request, and none of its other variants; from all tiers by default. From the disk, the
    /// bytes of the original are removed, which all variants share.
    ///
    /// A manager whose ``WebImageManager/Configuration/optionsProcessor`` changes requests has other keys; use
    /// ``WebImageManager/cacheKey(for:)`` with it.
    public func remove(for request: WebImageRequest, from tiers: ImageCache.Tiers = .all) async {
        await remove(for: request.cacheKey, from: tiers)
    }
}
