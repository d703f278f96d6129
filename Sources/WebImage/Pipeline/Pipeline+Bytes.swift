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
            if sources.contains(.disk), let disk = cache.disk {
                read(from: disk, into: work, context, sources: sources)
            } else {
                loadOrGiveUp(work, context, sources: sources)
            }
        }
    }

    private func read(
        from disk: DiskCache, into work: SharedWork<LoadedBytes>, _ context: LoadContext, sources: ByteSources
    ) {
        work.run { priority in
            let item = disk.load(context.key.source, priority: priority) { [self] data in
                if let data {
                    work.finish(.success(LoadedBytes(data: data, origin: .diskCache)))
                } else {
                    loadOrGiveUp(work, context, sources: sources)
                }
            }
            return QueuedStep(item: item)
        }
    }

    private func loadOrGiveUp(_ work: SharedWork<LoadedBytes>, _ context: LoadContext, sources: ByteSources) {
        guard sources.contains(.loader) else {
            return work.finish(.failure(.notInCache(key: context.key.source)))
        }
        var request = LoaderRequest(url: context.request.url, headers: context.request.headers)
        if !request.headers.keys.contains(where: { $0.lowercased() == "accept" }) {
            request.headers["Accept"] = codecs.acceptHeader
        }
        let collector = BodyCollector()
        let awaitsStorage = context.usesDiskCache
        work.run { priority in
            let task = context.loader.load(request, priority: priority) { event in
                switch event {
                case .response(let response):
                    work.report(collector.begin(response))
                case .bytes(let bytes):
                    work.report(collector.append(bytes))
                case .finished(.success):
                    let (data, contentType) = collector.end()
                    work.finish(
                        .success(
                            LoadedBytes(
                                data: data, origin: .remote, contentType: contentType, awaitsStorage: awaitsStorage)))
                case .finished(.failure(let error)):
                    work.finish(.failure(error))
                }
            }
            return LoaderStep(task: task)
        }
    }
}
