import WebImage

/// Loads the images of the posts that come next, and cancels those that scrolling has left behind.
@MainActor final class PostPrefetcher {
    private let posts: [Post]
    private let scale: Double
    private let prefetcher = ImagePrefetcher()
    private var batches: [Int: PrefetchBatch] = [:]

    init(_ posts: [Post], scale: Double) {
        self.posts = posts
        self.scale = scale
    }

    /// - Parameter positions: the positions of the posts in sight.
    func visiblePositionsDidChange(to positions: [Int]) {
        // Eight posts below those in sight, and two above them.
        let wanted = Set(positions.flatMap { $0 - 2...$0 + 8 }).subtracting(positions).filter(posts.indices.contains)
        for position in batches.keys where !wanted.contains(position) {
            batches.removeValue(forKey: position)?.cancel()
        }
        for position in wanted.sorted() where batches[position] == nil {
            let requests = [posts[position].avatarRequest(scale: scale), posts[position].imageRequest(scale: scale)]
            batches[position] = prefetcher.prefetch(requests) { _ in }
        }
    }
}
