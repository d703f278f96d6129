import BenchmarkSupport
import CWebImageGTK
import Foundation
import GTKObjects
import WebImageGTK

/// A window with two images, ours and GTK's own, and images in memory for both.
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
        let thumbnail = Thumbnail(.pixels(width: Self.side, height: Self.side), mode: .aspectFill)
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

    /// Every image was there at once, and the last one is on display.
    func verify() throws {
        for (number, request) in requests.enumerated() {
            ours.setImage(request, manager: manager)
            guard ours.loadState == .loaded(.memoryCacheFast), Int(ours.image?.pixels[0, 0].x ?? 0) == number & 255
            else { throw WrongResult(description: "picture \(number) is not shown") }
        }
    }
}

/// Images that are not in memory: files, which a loader has to read and the pipeline to decode.
@MainActor final class MissScene {
    private let photographs: Photographs
    let count: Int
    private let cache = ImageCache(memory: MemoryCache(costLimit: .max), disk: nil)
    private let manager: WebImageManager
    private let ours: [WebPicture]
    private let yardstick = ObjectPointer(gtk_picture_new())
    private let urls: [URL]

    init(_ photographs: Photographs) throws {
        self.photographs = photographs
        let count = photographs.count
        self.count = count
        manager = WebImageManager(configuration: WebImageManager.Configuration(cache: cache, loaders: [FileLoader()]))
        ours = (0..<count).map { _ in WebPicture() }
        urls = (0..<count).map { URL(filePath: photographs.path(of: $0)) }
        for picture in ours {
            g_object_ref_sink(picture.widget)
            // They are in no window.
            picture.loading = .eager
        }
    }

    isolated deinit {
        for picture in ours { g_object_unref(picture.widget) }
        g_object_unref(g_object_ref_sink(yardstick.address))
    }

    /// The time of the main thread for all of them.
    ///
    /// - Returns: the processor's time in the calls of `setImage`, and afterwards until the images are set.
    func load() -> (start: Duration, set: Duration) {
        cache.memory.removeAll()
        for picture in ours { picture.prepareForReuse() }
        while g_main_context_iteration(nil, gboolean(0)) != 0 {}
        let thumbnail = Thumbnail(.pixels(width: 128, height: 128), mode: .aspectFill)
        var endedCount = 0
        let start = ProcessFigures.mainThread
        for (picture, url) in zip(ours, urls) {
            picture.setImage(url, thumbnail: thumbnail, manager: manager, completion: { _ in endedCount += 1 })
        }
        let started = ProcessFigures.mainThread
        while endedCount < count { g_main_context_iteration(nil, gboolean(1)) }
        return (started - start, ProcessFigures.mainThread - started)
    }

    func setFilenames() -> Duration {
        let start = ProcessFigures.mainThread
        for number in 0..<count { gtk_picture_set_filename(yardstick.opaque, photographs.path(of: number)) }
        return ProcessFigures.mainThread - start
    }

    /// Each has its image, and draws it.
    func verify() throws {
        _ = load()
        for (number, picture) in ours.enumerated() where picture.loadState != .loaded(.remote) || picture.image == nil {
            throw WrongResult(description: "photograph \(number) was not set: \(picture.loadState)")
        }
    }
}

/// A part that runs in its own process, so that its memory and processor time are measured alone.
///
/// It prints its figures as one line of `name=value`.
enum MeasuredPart: String {
    case grid
    case animations
    case warmGrid = "warm-grid"
    case firstPicture = "first-picture"
    case gallery
    case zoom

    /// Runs the part that the arguments name, and ends the process.
    static func run(_ arguments: [String]) -> Never {
        guard let part = arguments.first.flatMap(MeasuredPart.init), gtk_init_check() != 0 else { exit(2) }
        do {
            let arguments = Array(arguments.dropFirst())
            try MainActor.assumeIsolated { [arguments] in
                let figures: [String: Double] =
                    switch part {
                    case .grid: try GridRun(arguments).figures()
                    case .warmGrid: try WarmGridRun(arguments).figures()
                    case .animations: try AnimationRun(arguments).figures()
                    case .firstPicture: try FirstPictureRun(arguments).figures()
                    case .gallery: try GalleryRun(arguments).figures()
                    case .zoom: try ZoomRun(arguments).figures()
                    }
                print(figures.map { "\($0.key)=\($0.value)" }.joined(separator: " "))
            }
        } catch {
            print(error)
            exit(1)
        }
        exit(0)
    }

    /// Runs it in another process and reads its figures.
    ///
    /// - Parameter environment: variables that the process has besides those of this one, or, for `nil`, has not.
    static func measure(
        _ part: MeasuredPart, _ arguments: [String], environment: [String: String?] = [:]
    ) throws -> [String: Double] {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["--part", part.rawValue] + arguments
        process.standardOutput = output
        if !environment.isEmpty {
            process.environment = ProcessInfo.processInfo.environment.merging(environment.compactMapValues(\.self)) {
                $1
            }
            for (name, value) in environment where value == nil { process.environment?[name] = nil }
        }
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw WrongResult(description: "\(part.rawValue) \(arguments.joined(separator: " ")) failed: \(text)")
        }
        return text.split(whereSeparator: \.isWhitespace).reduce(into: [:]) { figures, field in
            let parts = field.split(separator: "=")
            if parts.count == 2, let value = Double(parts[1]) { figures[String(parts[0])] = value }
        }
    }
}

/// The resources that this process has used so far.
struct ProcessFigures {
    let wall = Double(g_get_monotonic_time()) / 1e6
    /// Seconds of all threads, and of this one.
    let processor = Self.seconds(__rusage_who_t(RUSAGE_SELF.rawValue))
    let thread = Self.seconds(1)  // RUSAGE_THREAD, which Glibc's module does not have.

    /// As shares of one processor, since `start`.
    func shares(since start: ProcessFigures) -> (all: Double, main: Double) {
        let wall = wall - start.wall
        return ((processor - start.processor) / wall, (thread - start.thread) / wall)
    }

    private static func seconds(_ who: __rusage_who_t) -> Double {
        var usage = rusage()
        getrusage(who, &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }

    /// The processor time of the calling thread. Unlike the time on the clock, it does not count other threads.
    static var mainThread: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// The maximum memory it has had, in MiB.
    static var peakMebibytes: Double {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return (line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Double($0) } ?? 0) / 1024
    }
}

/// JPEG files of 400 by 300 pixels, as a page of search results has them: noise over twelve large blocks that spell the
/// file's number, so that one can see which image a cell shows.
struct Photographs {
    static let size = PixelSize(width: 400, height: 300)
    /// In the middle, which a square cell shows.
    private static let (columnCount, rowCount) = (4, 3)
    static let most = 1 << (columnCount * rowCount)

    let directory: String
    let count: Int

    func path(of number: Int) -> String { "\(directory)/\(number).jpg" }

    /// Makes the files.
    func write() throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        for number in 0..<count {
            let file = try CodecRegistry.shared.encode(
                Self.picture(of: number), as: .jpeg, options: EncodingOptions(quality: 0.8))
            try file.write(to: URL(filePath: path(of: number)))
        }
    }

    private static func picture(of number: Int) throws -> Image {
        var pixels = try MutablePixelBuffer(width: size.width, height: size.height)
        var state = UInt32(truncatingIfNeeded: number &* 2_654_435_761 | 1)
        let (width, height) = (size.width, size.height)
        pixels.withUnsafeMutableBytes { bytes in
            for y in 0..<height {
                for x in 0..<width {
                    let column = min(columnCount - 1, max(0, x - (width - height) / 2) * columnCount / height)
                    let block = y * rowCount / height * columnCount + column
                    state = state &* 1_664_525 &+ 1_013_904_223
                    let value = (number >> block & 1 == 1 ? 180 : 50) + Int(state >> 28)
                    let pixel = SIMD4(
                        UInt8(value), UInt8(value + x * 40 / width), UInt8(value + y * 40 / height), 255)
                    bytes.storeBytes(of: pixel, toByteOffset: (y * width + x) * 4, as: SIMD4<UInt8>.self)
                }
            }
        }
        return Image(pixels: pixels.freeze(isOpaque: true))
    }

    /// The number of the photograph that `widget` draws, filled and cut off; `nil` where there is none.
    @MainActor static func number(drawnBy widget: UnsafeMutablePointer<GtkWidget>) -> Int? {
        let (width, height) = (Int(gtk_widget_get_width(widget)), Int(gtk_widget_get_height(widget)))
        guard width > 0, height > 0, let snapshot = gtk_snapshot_new() else { return nil }
        let paintable = ObjectPointer(gtk_widget_paintable_new(widget))
        defer { g_object_unref(paintable.address) }
        gdk_paintable_snapshot(paintable.opaque, snapshot, Double(width), Double(height))
        guard let node = gtk_snapshot_free_to_node(snapshot) else { return nil }
        defer { gsk_render_node_unref(node) }
        let surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, gint(width), gint(height))
        defer { cairo_surface_destroy(surface) }
        let context = cairo_create(surface)
        gsk_render_node_draw(node, context)
        cairo_destroy(context)
        cairo_surface_flush(surface)
        guard let bytes = cairo_image_surface_get_data(surface) else { return nil }
        let stride = Int(cairo_image_surface_get_stride(surface))
        var number = 0
        for block in 0..<columnCount * rowCount {
            let (column, row) = (block % columnCount, block / columnCount)
            let (x, y) = ((2 * column + 1) * width / (2 * columnCount), (2 * row + 1) * height / (2 * rowCount))
            let pixel = bytes + y * stride + x * 4
            guard pixel[3] == 255 else { return nil }
            if pixel[2] > 120 { number |= 1 << block }
        }
        return number
    }
}
