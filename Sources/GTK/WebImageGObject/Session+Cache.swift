internal import CWebImageGObject
internal import CWebImageGTK
internal import WebImage
internal import WebImageGTK

@c @implementation
func webimage_bridge_session_cached(
    _ session: OpaquePointer, _ request: UnsafePointer<WebImageBridgeRequest>
) -> OpaquePointer? {
    guard let request = try? WebImageRequest(request.pointee) else { return nil }
    return Session.of(session).manager.cachedImage(for: request)?.makeUnsharedTexture()
}

@c @implementation
func webimage_bridge_session_remove(
    _ session: OpaquePointer, _ request: UnsafePointer<WebImageBridgeRequest>, _ done: @escaping WebImageBridgeDone,
    _ data: gpointer?
) {
    let (receiver, session) = (Receiver(done: done, data: data), Session.of(session))
    do throws(WebImageError) {
        let request = try WebImageRequest(request.pointee)
        Task.detached {
            await session.manager.removeImages(of: session.manager.cacheKey(for: request))
            receiver.receive(UnsafeMutableRawPointer?.none)
        }
    } catch {
        Task.detached { receiver.receive(error) }
    }
}

@c @implementation
func webimage_bridge_session_clear(
    _ session: OpaquePointer, _ memory: gboolean, _ disk: gboolean, _ done: @escaping WebImageBridgeDone,
    _ data: gpointer?
) {
    let (receiver, session) = (Receiver(done: done, data: data), Session.of(session))
    var tiers: ImageCache.Tiers = []
    if memory != 0 { tiers.insert(.memory) }
    if disk != 0 { tiers.insert(.disk) }
    Task.detached { [tiers] in
        await session.cache.clear(tiers)
        receiver.receive(UnsafeMutableRawPointer?.none)
    }
}

@c @implementation
func webimage_bridge_session_statistics(
    _ session: OpaquePointer, _ done: @escaping WebImageBridgeDone, _ data: gpointer?
) {
    let (receiver, session) = (Receiver(done: done, data: data), Session.of(session))
    Task.detached {
        let (counters, memory) = (session.manager.counters, session.cache.memory)
        let diskByteCount = await session.cache.disk?.totalSize ?? 0
        // The receiver frees it with g_free.
        let statistics = g_malloc0(gsize(MemoryLayout<WebImageBridgeStatistics>.size))
        statistics?.initializeMemory(
            as: WebImageBridgeStatistics.self,
            to: WebImageBridgeStatistics(
                requests: guint64(counters.requests), memory_hits: guint64(counters.memoryHits),
                disk_hits: guint64(counters.diskHits), loads: guint64(counters.loads),
                failures: guint64(counters.failures), cancellations: guint64(counters.cancellations),
                memory_bytes: guint64(memory.totalCost), memory_limit: guint64(memory.costLimit),
                disk_bytes: guint64(diskByteCount)))
        receiver.receive(statistics)
    }
}
