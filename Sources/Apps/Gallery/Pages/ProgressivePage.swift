import CWebImageGTK
import FoundationEssentials
import GTKObjects
import WebImageGTK

/// Previews of incomplete files. A slider sets the part of each file that has arrived.
@MainActor final class ProgressivePage: PhotographPage {
    /// A file, and what it shows.
    @MainActor private struct Entry {
        let example: Example
        var data = Data()
        let frame = PictureFrame(width: 200, height: 160)
        var picture: WebPicture { frame.picture }
        let caption = ObjectPointer.caption(localized("Encoding…"), "caption", "numeric")
        let spinner = ObjectPointer(gtk_spinner_new()).set("spinning", true)
        var work: LatestWork<FilePrefix, Image?>?
    }

    private struct Example {
        let name: String
        let encoding: SampleFile.Encoding
        let explanation: String
        /// Whether its first bytes are the whole image coarsely, not its upper rows.
        var isCoarseFirst = false
    }

    private static let examples: [Example] = [
        Example(
            name: localized("Baseline JPEG"), encoding: .jpeg,
            explanation: localized("Rows arrive from the top; the rest is unknown.")),
        Example(
            name: localized("Progressive JPEG"), encoding: .progressiveJPEG,
            explanation: localized("The whole image arrives coarsely, then gets finer in each scan."),
            isCoarseFirst: true),
        Example(
            name: localized("Interlaced PNG"), encoding: .interlacedPNG,
            explanation: localized("The first of seven passes has one of 64 pixels, the last has half of them."),
            isCoarseFirst: true),
        Example(
            name: localized("Plain PNG"), encoding: .png,
            explanation: localized("Rows arrive from the top. Shorter than an interlaced file.")
        ),
        Example(
            name: "GIF", encoding: .gif, explanation: localized("Rows arrive from the top, in 256 colors.")),
        Example(
            name: "WebP", encoding: .webp,
            explanation: localized("Rows arrive from the top, after a header that describes all blocks.")),
        Example(
            name: "JPEG XL", encoding: .jxl,
            explanation: localized("An eighth of the resolution first, then the details in square groups.")),
    ]

    private var entries: [Entry] = []
    private let scale: ObjectPointer
    private let shareLabel = ObjectPointer.label("", "numeric")
    private let blurSwitch = ObjectPointer(gtk_switch_new()).aligned(nil, GTK_ALIGN_CENTER)
    private var finishedLoadCount = 0
    private let width: Int

    /// The slider's maximum. It lies beyond 1, as in YYImage's demo, so that the end is easy to reach.
    private static let rightEnd = 1.05

    /// - Parameter width: of the files' images, in pixels.
    init(samples: Samples, width: Int = 720) {
        self.width = width
        scale = ObjectPointer(gtk_scale_new_with_range(GTK_ORIENTATION_HORIZONTAL, 0, Self.rightEnd, 0.01))
        let controls = ObjectPointer.column(spacing: 6)
        super.init(
            samples: samples,
            introduction:
                localized(
                    "Move the slider to feed each decoder the first part of a file, as a slow network would. Requests with the option progressive show such previews; with progressiveBlur, coarse ones are blurred."
                ),
            controls: controls)
        addControls(to: controls)
        scale.onSignal("value-changed") { [weak self] in self?.showPrefixes() }
        blurSwitch.onChange(of: "active") { [weak self] in self?.showPrefixes() }
        shownPart = 0.35
    }

    // MARK: State

    /// The part of each file that is decoded: 0 is nothing, 1 or more the whole file.
    var shownPart: Double {
        get { gtk_range_get_value(scale.as()) }
        set { gtk_range_set_value(scale.as(), newValue) }
    }

    /// Whether previews that show the whole image coarsely are blurred.
    var blursPreviews: Bool {
        get { blurSwitch.get("active") }
        set { blurSwitch.set("active", newValue) }
    }

    /// The image on display of each file, with the file's name.
    var images: [(name: String, image: Image?)] { entries.map { ($0.example.name, $0.picture.image) } }

    override var isSettled: Bool {
        isFilled && finishedLoadCount == entries.count && entries.allSatisfy { $0.work?.isIdle ?? true }
    }
    override var isComplete: Bool { isSettled && entries.allSatisfy { !$0.data.isEmpty } }

    // MARK: Widgets

    private func addControls(to column: ObjectPointer) {
        gtk_scale_set_draw_value(scale.as(), 0)
        scale.set("hexpand", true).setAccessibleLabel(localized("Part of each file that has arrived"))
        shareLabel.set("width-chars", 5).set("xalign", 1.0)
        blurSwitch.setAccessibleLabel(localized("Blur coarse previews"))
        let blurLabel = ObjectPointer.label(localized("Blur coarse previews"))
        column.append(.row(spacing: 6, [scale, shareLabel]))
        column.append(.row(spacing: 12, [blurSwitch, blurLabel]))
    }

    override func fill(with photographs: [Photograph]) {
        let examples = Self.examples.filter { CodecRegistry.shared.canEncode($0.encoding.format) }
        for (index, example) in examples.enumerated() {
            var entry = Entry(example: example)
            entry.work = LatestWork({ $0.image() }, show: { [weak self] in self?.show($1, of: $0, at: index) })
            entry.picture.alternativeText = localized(
                "{format} of {name}", ["format": example.name, "name": photographs[0].name])
            entries.append(entry)
        }
        content.append(
            .flow(
                entries.map { entry in
                    let status = ObjectPointer.row(spacing: 6, [entry.spinner, entry.caption])
                    return .card(
                        entry.frame.widget, entry.example.name, entry.example.explanation, controls: [status])
                }, columns: 3))
        for (index, example) in examples.enumerated() {
            load(SampleFile(.still, example.encoding, width: width, of: photographs[0]), at: index)
        }
    }

    private func load(_ file: SampleFile, at index: Int) {
        Task { [weak self, manager = samples.manager] in
            let result: Result<Data, WebImageError>
            do throws(WebImageError) {
                guard let url = file.url else { throw WebImageError.invalidURL("\(file)") }
                result = .success(try await manager.data(for: WebImageRequest(url)).data)
            } catch {
                result = .failure(error)
            }
            self?.take(result, at: index)
        }
    }

    private func take(_ result: Result<Data, WebImageError>, at index: Int) {
        finishedLoadCount += 1
        guard !isClosed else { return }
        gtk_widget_set_visible(entries[index].spinner.widget, 0)
        switch result {
        case .success(let data):
            entries[index].data = data
            showPrefix(at: index)
        case .failure(let error):
            entries[index].caption.text = error.userDescription
        }
    }

    // MARK: Previews

    private func showPrefixes() {
        shareLabel.text = "\(Int((min(shownPart, 1) * 100).rounded())) %"
        for index in entries.indices { showPrefix(at: index) }
    }

    private func showPrefix(at index: Int) {
        let entry = entries[index]
        guard !entry.data.isEmpty else { return }
        let count = Int((Double(entry.data.count) * min(shownPart, 1)).rounded())
        entry.caption.text = localized(
            "{part} of {whole}", ["part": Amount.bytes(count), "whole": Amount.bytes(entry.data.count)])
        entry.work?.start(
            FilePrefix(
                file: entry.data, byteCount: count, isBlurred: blursPreviews && entry.example.isCoarseFirst))
    }

    private func show(_ image: Image?, of prefix: FilePrefix, at index: Int) {
        guard !isClosed else { return }
        if let image { entries[index].picture.image = image } else { entries[index].picture.prepareForReuse() }
    }
}

/// The first bytes of a file.
struct FilePrefix: Sendable, Equatable {
    let file: Data
    let byteCount: Int
    /// Whether previews, which show the whole image coarsely, are blurred.
    let isBlurred: Bool

    /// Returns the image, or a preview of it; `nil` if there is none. Blocks the calling thread.
    func image() -> Image? {
        let codecs = CodecRegistry.shared
        guard byteCount < file.count else { return try? codecs.decode(file) }
        let prefix = file.prefix(byteCount)
        guard let image = try? codecs.makeIncrementalDecoder(startingWith: prefix)?.preview() else { return nil }
        guard isBlurred else { return image }
        // Before the end of the first pass, the lower part is empty.
        guard image.pixels[image.width - 1, image.height - 1].w > 0 else { return nil }
        // As with the option progressiveBlur: 45 points for the first bytes, 7 for half of the file.
        let radius = 32 * (1 / (3 * Double(byteCount) / Double(file.count) + 0.6) - 0.25)
        return (try? image.processed(by: [.blur(BlurEffect(radius: radius))], cancellation: nil)) ?? image
    }
}
