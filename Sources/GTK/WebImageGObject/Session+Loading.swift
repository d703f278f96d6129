internal import CWebImageGObject
internal import CWebImageGTK
internal import FoundationEssentials
internal import WebImage
internal import WebImageGTK

/// A load that C code can cancel.
final class Load: Handle, Sendable {
    private let stop: @Sendable () -> Void

    init(stop: @escaping @Sendable () -> Void = {}) { self.stop = stop }

    /// Makes a load that has failed before it began. The receiver is called later.
    convenience init(failing receiver: Receiver, with error: WebImageError) {
        self.init()
        Task.detached { receiver.receive(error) }
    }

    func cancel() { stop() }
}

@c @implementation
func webimage_bridge_load_cancel(_ load: OpaquePointer) { Load.of(load).cancel() }

@c @implementation
func webimage_bridge_session_load(
    _ session: OpaquePointer, _ request: UnsafePointer<WebImageBridgeRequest>, _ done: @escaping WebImageBridgeDone,
    _ data: gpointer?
) -> OpaquePointer {
    let receiver = Receiver(done: done, data: data)
    do throws(WebImageError) {
        let operation = Session.of(session).manager.load(try WebImageRequest(request.pointee)) { result in
            switch result {
            case .success(let response): receiver.receive(response.image.makeUnsharedTexture())
            case .failure(let error): receiver.receive(error)
            }
        }
        return Load { operation.cancel() }.retainedHandle
    } catch {
        return Load(failing: receiver, with: error).retainedHandle
    }
}

@c @implementation
func webimage_bridge_session_load_bytes(
    _ session: OpaquePointer, _ request: UnsafePointer<WebImageBridgeRequest>, _ done: @escaping WebImageBridgeDone,
    _ data: gpointer?
) -> OpaquePointer {
    let receiver = Receiver(done: done, data: data)
    do throws(WebImageError) {
        let (manager, request) = (Session.of(session).manager, try WebImageRequest(request.pointee))
        let task = Task.detached {
            do throws(WebImageError) {
                let (data, response, _) = try await manager.data(for: request)
                // Unlike data for other purposes, the page of an error is not an image.
                if let status = response.statusCode, !(200..<300).contains(status) {
                    throw .httpStatus(code: status, url: request.url)
                }
                receiver.receive(data.newBytes())
            } catch {
                receiver.receive(error)
            }
        }
        return Load { task.cancel() }.retainedHandle
    } catch {
        return Load(failing: receiver, with: error).retainedHandle
    }
}

@c @implementation
func webimage_bridge_session_load_file(
    _ session: OpaquePointer, _ request: UnsafePointer<WebImageBridgeRequest>, _ format: UnsafePointer<CChar>?,
    _ done: @escaping WebImageBridgeDone, _ data: gpointer?
) -> OpaquePointer {
    let receiver = Receiver(done: done, data: data)
    do throws(WebImageError) {
        let (manager, request) = (Session.of(session).manager, try WebImageRequest(request.pointee))
        let format = try String(optional: format).map(ImageFormat.init(writable:))
        let task = Task.detached {
            do throws(WebImageError) {
                receiver.receive(try await manager.file(for: request, format: format).newObject())
            } catch {
                receiver.receive(error)
            }
        }
        return Load { task.cancel() }.retainedHandle
    } catch {
        return Load(failing: receiver, with: error).retainedHandle
    }
}

extension ImageFormat {
    /// - Throws: ``WebImageError/encoding(format:reason:)`` for an unknown name.
    fileprivate init(writable name: String) throws(WebImageError) {
        guard let format = ImageFormat(named: name) else {
            let unknown = ImageFormat(name: name, mimeType: "application/octet-stream", fileExtension: "bin")
            throw .encoding(format: unknown, reason: .noEncoder)
        }
        self = format
    }
}

extension CachedFile {
    /// Makes a GFile that retains this object.
    func newObject() -> OpaquePointer? {
        guard let file = g_file_new_for_path(path) else { return nil }
        g_object_set_data_full(
            UnsafeMutableRawPointer(file).assumingMemoryBound(to: GObject.self), "webimage-cached-file",
            Unmanaged.passRetained(self).toOpaque()
        ) { data in
            if let data { Unmanaged<CachedFile>.fromOpaque(data).release() }
        }
        return file
    }
}

@c @implementation
func webimage_bridge_session_prefetch(
    _ session: OpaquePointer, _ requests: UnsafePointer<WebImageBridgeRequest>?, _ count: gsize,
    _ done: @escaping WebImageBridgeDone, _ data: gpointer?
) -> OpaquePointer {
    let receiver = Receiver(done: done, data: data)
    // Like one that fails, a request that is not valid does not end the others.
    let wanted = UnsafeBufferPointer(start: requests, count: Int(count)).compactMap { try? WebImageRequest($0) }
    let batch = Session.of(session).prefetcher.prefetch(wanted) { progress in
        receiver.receive(UnsafeMutableRawPointer(bitPattern: progress.loaded + progress.skipped))
    }
    return Load { batch.cancel() }.retainedHandle
}
