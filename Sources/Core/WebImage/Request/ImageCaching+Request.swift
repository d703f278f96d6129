public import WebImageCaching

extension ImageCaching {
    /// Removes the image of a request; from all tiers by default. From memory, its other variants are not removed. From the disk, the bytes of
    /// the original are, too, which all variants are made of: the next load of any that is not in memory comes from the network.
    ///
    /// A manager whose ``WebImageManager/Configuration/optionsProcessor`` or ``WebImageManager/Configuration/harmlessHeaders`` changes
    /// requests has other keys; use ``WebImageManager/cacheKey(for:)`` with it.
    public func remove(for request: WebImageRequest, from tiers: ImageCache.Tiers = .all) async {
        let key = request.cacheKey
        await remove(for: key, from: tiers)
        if key.variant != nil, tiers.contains(.disk) { await remove(for: key.original, from: .disk) }
    }
}
