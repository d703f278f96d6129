public import WebImage

extension WebImageOptions {
    /// The load goes on when its view goes away or off screen, so that the caches have the picture next time, and the
    /// program's `GApplication` runs until it has ended. Another URL in the same view still cancels it.
    public static let continueInBackground = WebImageOptions(rawValue: 1 << 37)
}
