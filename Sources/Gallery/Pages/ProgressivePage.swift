import CWebImageGTK
import FoundationEssentials
import WebImageGTK

/// Previews of incomplete files. The slider sets the part of each file that has arrived.
@MainActor final class ProgressivePage: GalleryPage {
    let widget: ObjectPointer
    private var files: [(name: String, data: Data, picture: WebPicture)] = []
    private let adjustment: ObjectPointer

    /// The slider's maximum. It lies beyond 1, as in YYImage's demo, so that the end is easy to reach.
    private static let rightEnd = 1.05

    init(session: GallerySession) throws(WebImageError) {
        let box = ObjectPointer(gtk_box_new(GTK_ORIENTATION_VERTICAL, 12))
        widget = box
        let scale = ObjectPointer(gtk_scale_new_with_range(GTK_ORIENTATION_HORIZONTAL, 0, Self.rightEnd, 0.005))
        adjustment = ObjectPointer(gtk_range_get_adjustment(scale.address.assumingMemoryBound(to: GtkRange.self)))
        let (grid, attach) = Self.makeGrid()
        for child in [scale.widget, grid] {
            gtk_box_append(box.address.assumingMemoryBound(to: GtkBox.self), child)
        }
        for setMargin in [gtk_widget_set_margin_start, gtk_widget_set_margin_end, gtk_widget_set_margin_top] {
            setMargin(scale.widget, 24)
        }
        for (number, (name, data)) in try Self.makeFiles().enumerated() {
            let picture = WebPicture()
            gtk_widget_add_css_class(picture.widget, "image-frame")
            files.append((name, data, picture))
            let frame = Self.sized(picture.widget, width: 330, height: 220)
            attach(Self.captioned(frame, "\(name), \(data.count / 1024) KiB"), number % 3, number / 3)
        }
        adjustment.onSignal("value-changed") { [weak self] in self?.showPrefixes() }
        shownPart = 0.35
    }

    /// The part of each file that is decoded: 0 is nothing, 1 or more the whole file.
    var shownPart: Double {
        get { gtk_adjustment_get_value(adjustment.address.assumingMemoryBound(to: GtkAdjustment.self)) }
        set { gtk_adjustment_set_value(adjustment.address.assumingMemoryBound(to: GtkAdjustment.self), newValue) }
    }

    /// The image on display of each file, with the file's name.
    var images: [(name: String, image: Image?)] { files.map { ($0.name, $0.picture.image) } }

    private static func makeFiles() throws(WebImageError) -> [(String, Data)] {
        let image = try Landscape(size: PixelSize(width: 660, height: 440), hour: 0.3).image()
        let codecs = CodecRegistry.shared
        var gif = EncodingOptions()
        gif.dithering = .floydSteinberg
        return [
            ("JPEG", try codecs.encode(image, as: .jpeg)),
            (
                "Progressive JPEG",
                try codecs.encode(image, as: .jpeg, options: EncodingOptions(isProgressive: true))
            ),
            ("PNG", try codecs.encode(image, as: .png)),
            ("GIF", try codecs.encode(image, as: .gif, options: gif)),
            ("WebP", try codecs.encode(image, as: .webp)),
        ]
    }

    /// Decodes on the main thread, because these small files take milliseconds. Apps decode on another thread.
    private func showPrefixes() {
        let part = min(shownPart, 1)
        for (_, data, picture) in files {
            let prefix = data.prefix(Int((Double(data.count) * part).rounded()))
            if let image = try? Self.decode(prefix, isWhole: prefix.count == data.count) {
                picture.setImage(image)
            } else {
                picture.prepareForReuse()
            }
        }
    }

    private static func decode(_ prefix: Data, isWhole: Bool) throws(WebImageError) -> Image? {
        if isWhole { return try CodecRegistry.shared.decode(prefix) }
        return try CodecRegistry.shared.makeIncrementalDecoder(startingWith: prefix)?.preview()
    }

    var isSettled: Bool { true }
    var isComplete: Bool { files.contains { $0.picture.image != nil } }
}
