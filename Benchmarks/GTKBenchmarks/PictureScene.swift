import BenchmarkReport
import CWebImageGTK
import FoundationEssentials
import WebImageGTK

/// A window with two pictures, ours and GTK's own, and pictures in memory for both.
@MainActor final class PictureScene {
    static let passCount = 20
    private static let side = 128

    let requests: [WebImageRequest]
    private let manager: WebImageManager
    private let ours = WebPicture()
    private let yardstick = ObjectPointer(gtk_picture_new())
    private let buffers: [OpaquePointer]
    private let textures: [OpaquePointer]
    private let window: ObjectPointer

    init(count: Int) throws {
        let cache = ImageCache(memory: MemoryCache(costLimit: .max), disk: nil)
        manager = WebImageManager(configuration: WebImageManager.Configuration(cache: cache))
        let thumbnail = Thumbnail(width: Self.side, height: Self.side, mode: .aspectFill)
        requests = (0..<count).compactMap { number in
            URL(string: "https://images.example.org/photos/\(number).jpg").map {
                WebImageRequest($0, thumbnail: thumbnail)
            }
        }
        var buffers: [OpaquePointer] = []
        for (number, request) in requests.enumerated() {
            var pixels = try MutablePixelBuffer(width: Self.side, height: Self.side)
            pixels.withUnsafeMutableBytes { bytes in
                for index in bytes.indices { bytes[index] = index % 4 == 3 ? 255 : UInt8(truncatingIfNeeded: number) }
            }
            let image = Image(pixels: pixels.freeze(isOpaque: true))
            cache.memory.set(image, for: request.cacheKey, cost: image.memoryCost)
            image.pixels.withUnsafeBytes { bytes in
                if let copy = g_bytes_new(bytes.baseAddress, gsize(bytes.count)) { buffers.append(copy) }
            }
        }
        self.buffers = buffers
        textures = buffers.compactMap(Self.texture)

        window = ObjectPointer(gtk_window_new())
        let box = ObjectPointer(gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0))
        for picture in [ours.widget, yardstick.widget] {
            gtk_box_append(box.address.assumingMemoryBound(to: GtkBox.self), picture)
        }
        gtk_window_set_child(window.address.assumingMemoryBound(to: GtkWindow.self), box.widget)
        gtk_window_present(window.address.assumingMemoryBound(to: GtkWindow.self))
        while g_main_context_iteration(nil, 0) != 0 {}
    }

    private static func texture(_ bytes: OpaquePointer) -> OpaquePointer? {
        gdk_memory_texture_new(
            gint(side), gint(side), GDK_MEMORY_R8G8B8A8_PREMULTIPLIED, bytes, gsize(side * 4))
    }

    func setMemoryHits() {
        for _ in 0..<Self.passCount {
            for request in requests { ours.setImage(request, manager: manager) }
        }
    }

    func setTextures() {
        for _ in 0..<Self.passCount {
            for texture in textures { gtk_picture_set_paintable(yardstick.opaque, texture) }
        }
    }

    func setNewTextures() {
        for _ in 0..<Self.passCount {
            for bytes in buffers {
                let texture = Self.texture(bytes)
                gtk_picture_set_paintable(yardstick.opaque, texture)
                if let texture { g_object_unref(UnsafeMutableRawPointer(texture)) }
            }
        }
    }

    func lookUp() {
        var found = 0
        for _ in 0..<Self.passCount {
            for request in requests where manager.cachedImage(for: request) != nil { found += 1 }
        }
        precondition(found == requests.count * Self.passCount)
    }

    /// Every picture was there at once, and the last one is on display.
    func verify() throws {
        for (number, request) in requests.enumerated() {
            ours.setImage(request, manager: manager)
            guard ours.loadState == .loaded(.memoryCacheFast), Int(ours.image?.pixels[0, 0].x ?? 0) == number & 255
            else { throw WrongResult(description: "picture \(number) is not shown") }
        }
    }
}
