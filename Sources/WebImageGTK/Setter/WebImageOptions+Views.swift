public import WebImage

/// Switches that views heed, beside those every load does.
extension WebImageOptions {
    /// The load goes on when its view goes away or off screen, so that the caches have the picture next time, and the
    /// program's `GApplication` runs until it has ended. Another URL in the same view still cancels it.
    public static let continueInBackground = WebImageOptions(rawValue: 1 << 8)
    /// ``LoadPriority/low``. A view waits until what scrolls around it has come to rest before it starts the load.
    public static let lowPriority = WebImageOptions(rawValue: 1 << 14)
    /// Leaves the view's previous load running beside this one. Its completion gets what it brings; the view shows the picture
    /// of the last URL.
    public static let avoidAutoCancel = WebImageOptions(rawValue: 1 << 37)
    /// Calls the completion when the transition to the picture is over, or was cut short.
    public static let waitTransition = WebImageOptions(rawValue: 1 << 38)
}
