import FoundationEssentials
public import WebImage
import WebImageCore

extension WebImageManager.Configuration {
    /// Returns a configuration for tests: all loads go to `loader`, images are cached in memory only, and the waits between retries and
    /// the age of cached responses follow the loader's ``TestImageLoader/clock``.
    ///
    /// ```swift
    /// let loader = TestImageLoader()
    /// var configuration = WebImageManager.Configuration.testing(loader)
    /// configuration.shouldLoad = { $0.url.scheme == "https" }
    /// let manager = WebImageManager(configuration: configuration)
    /// ```
    ///
    /// Waits between retries have no random part: each is the longest that the policy allows.
    ///
    /// - Parameters:
    ///   - loader: answers the loads.
    ///   - cache: `nil`, the default, is a new cache of 64 MiB in memory, without a disk.
    public static func testing(_ loader: TestImageLoader, cache: (any ImageCaching)? = nil) -> Self {
        let memory = MemoryCache<ImageCacheKey, Image>(costLimit: 64 << 20)
        var configuration = Self(cache: cache ?? ImageCache(memory: memory, disk: nil), loaders: [loader])
        let (timer, start) = (loader.clock.timer, Date())
        let date: @Sendable () -> Date = { start + timer.now.inExactSeconds }
        var environment = LoadEnvironment()
        (environment.clock, environment.date, environment.random) = (timer, date, { 1 })
        environment.apply(to: &configuration)
        return configuration
    }
}
