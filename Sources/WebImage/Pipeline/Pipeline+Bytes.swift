import FoundationEssentials
import WebImageCaching
import WebImageCore
import WebImageLoading

extension Pipeline {
    func joinBytes(
        for context: LoadContext, sources: ByteSources, priority: LoadPriority,
        handler: @escaping SharedWork<LoadedBytes>.Handler
    ) -> (any WorkStep)? {
        bytes.join(context.bytesKey(sources: sources), priority: priority, handler: handler) { work in
            if sources.contains(.disk), originals.disk != nil {
                work.run { priority in
                    undecoded.admit(priority: priority) { [self] share in
                        read(into: work, context, sources: sources, share: share)
                    }
                }
            } else {
                loadOrGiveUp(work, context, sources: sources)
            }
        }
    }

    private func read(
        into work: SharedWork<LoadedBytes>, _ context: LoadContext, sources: ByteSources,
        share: BodyBudget.Share
    ) {
        work.run { priority in
            let item = originals.readOriginal(of: context.key, priority: priority) { [self] stored in
                share.settle(stored?.data.count ?? 0)
                if let stored {
                    work.finish(
                        .success(
                            LoadedBytes(data: stored.data, origin: .diskCache, stored: stored, share: share)))
                } else {
                    loadOrGiveUp(work, context, sources: sources)
                }
            }
            return item.map { QueuedStep(item: $0) }
        }
    }

    private func loadOrGiveUp(_ work: SharedWork<LoadedBytes>, _ context: LoadContext, sources: ByteSources) {
        guard sources.contains(.loader) else {
            return work.finish(.failure(.notInCache(key: context.key.source)))
        }
        var request = context.loaderRequest
        if !request.headers.keys.contains(where: { $0.lowercased() == "accept" }) {
            request.headers["Accept"] = codecs.acceptHeader
        }
        let loaded = BytesLoad(
            work, storage: bodyStorage(for: context), minimumProgressInterval: minimumProgressInterval,
            awaitsStorage: context.usesDiskCache, budget: undecoded)
        work.run { priority in
            let task = context.loader.load(request, priority: priority) { loaded.receive($0) }
            loaded.attach(task)
            return LoaderStep(task: task)
        }
    }

    /// A second copy on the disk would do nobody good.
    private func bodyStorage(for context: LoadContext) -> BodyStorage {
        var storage = bodyStorage
        if !context.loader.isCacheable(context.request.url) { storage.memoryByteLimit = .max }
        return storage
    }
}
