internal import CWebImageGObject
internal import CWebImageGTK
internal import WebImage

@c @implementation
func webimage_bridge_session_load_icon(
    _ session: OpaquePointer, _ request: UnsafePointer<WebImageBridgeRequest>, _ done: @escaping WebImageBridgeDone,
    _ data: gpointer?
) -> OpaquePointer {
    let receiver = Receiver(done: done, data: data)
    do throws(WebImageError) {
        let (manager, request) = (Session.of(session).manager, try WebImageRequest(request.pointee))
        let task = Task.detached {
            do throws(WebImageError) {
                receiver.receive(try await manager.iconFile(for: request).newIconObject())
            } catch {
                receiver.receive(error)
            }
        }
        return Load { task.cancel() }.retainedHandle
    } catch {
        return Load(failing: receiver, with: error).retainedHandle
    }
}

extension WebImageManager {
    /// The formats that GdkPixbuf and other programs read everywhere.
    private static let iconFormats: [ImageFormat] = [.png, .jpeg, .gif, .svg]

    /// Returns the original file if its format is a common one, otherwise a PNG file.
    fileprivate func iconFile(for request: WebImageRequest) async throws(WebImageError) -> CachedFile {
        let file = try await file(for: request)
        return Self.iconFormats.contains(file.format) ? file : try await self.file(for: request, format: .png)
    }
}

extension CachedFile {
    /// Makes a GFile that retains this object and has its MIME type.
    fileprivate func newIconObject() -> OpaquePointer? {
        guard let file = newObject() else { return nil }
        g_object_set_data_full(
            UnsafeMutableRawPointer(file).assumingMemoryBound(to: GObject.self), "webimage-content-type",
            g_strdup(format.mimeType), g_free)
        return file
    }
}
