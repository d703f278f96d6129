import CWebImageGTK
import FoundationEssentials
import GTKObjects
import WebImageGTK

/// Animations of every format. Each can be paused, scrubbed, slowed down and reversed.
@MainActor final class AnimationsPage: PhotographPage {
    private var exhibits: [AnimationExhibit] = []
    private nonisolated static let width = 288

    init(samples: Samples) {
        super.init(
            samples: samples,
            introduction:
                localized(
                    "Each animation flies over another photograph. It plays while it is visible, and only the frames that come next are decoded. Its slider and buttons call AnimationPlayer.seek(toFrame:), the menus change playback.rate and playback.mode."
                )
        )
    }

    override func fill(with photographs: [Photograph]) {
        let formats: [(SampleFile.Encoding, String, String)] = [
            (.webp, "WebP", localized("Full colors in small files; each frame is lossy or lossless.")),
            (.gif, "GIF", localized("256 colors for each frame, chosen and dithered by the encoder.")),
            (.png, "APNG", localized("Lossless, and therefore the longest file.")),
            (.avif, "AVIF", localized("A sequence of video frames, which refer to earlier ones.")),
            (.jxl, "JPEG XL", localized("Still images, one after the other.")),
        ]
        for (encoding, title, explanation) in formats
        where CodecRegistry.shared.canEncodeAnimation(as: encoding.format) {
            let exhibit = AnimationExhibit(title, explanation)
            let photograph = photographs[around: exhibits.count]
            exhibit.load(
                SampleFile(.animation, encoding, width: Self.width, of: photograph).url, of: photograph.name,
                manager: samples.manager)
            exhibits.append(exhibit)
        }
        let sequence = AnimationExhibit(
            localized("Sequence of JPEG files"),
            localized("Frames are decoded one by one, with Image(frames:durations:)."), mode: .bounce)
        let sheet = AnimationExhibit(
            localized("Sprite sheet"), localized("Frames are parts of one image, with Image(spriteSheet:…)."),
            mode: .reverse)
        exhibits += [sequence, sheet]
        make(sequence, photographs[around: 2]) { (flight) throws(WebImageError) in try flight.sequence() }
        make(sheet, photographs[around: 3]) { (flight) throws(WebImageError) in try flight.spriteSheet() }
        content.append(.flow(exhibits.map(\.card), columns: 3))
    }

    private func make(
        _ exhibit: AnimationExhibit, _ photograph: Photograph,
        _ body: @escaping @Sendable (PhotographFlight) throws(WebImageError) -> Image
    ) {
        let work = LatestWork<URL, Result<Image, WebImageError>>(
            { url in
                Result { () throws(WebImageError) in
                    try body(PhotographFlight(over: url, width: Self.width, nil))
                }
            },
            show: { [weak self] _, result in
                guard let self, !isClosed else { return }
                exhibit.show(result, of: photograph.name)
            })
        exhibit.work = work
        work.start(photograph.url)
    }

    override var isSettled: Bool { isFilled && exhibits.allSatisfy(\.isSettled) }
    override var isComplete: Bool { isFilled && exhibits.allSatisfy { $0.picture.player != nil } }
}

/// An animation with its controls.
@MainActor final class AnimationExhibit {
    let picture: WebPicture
    let card: ObjectPointer
    /// The work that makes the animation; retained until it has.
    var work: LatestWork<URL, Result<Image, WebImageError>>?
    let controls: AnimationControls
    let modeMenu: ObjectPointer
    private let status = ObjectPointer.caption(localized("Encoding…"), "caption", "dim-label")
    private var hasFailed = false

    private static let modes: [(PlaybackMode, String)] = [
        (.normal, localized("Forward")), (.reverse, localized("Reverse")), (.bounce, localized("Bounce")),
        (.reversedBounce, localized("Bounce from the end")),
    ]

    init(_ title: String, _ explanation: String, mode: PlaybackMode = .normal) {
        let frame = PictureFrame(width: 280, height: 175)
        picture = frame.picture
        controls = AnimationControls(of: title)
        modeMenu = .dropDown(Self.modes.map(\.1), localized("Order of frames of {title}", ["title": title])).set(
            "sensitive", false)
        card = .card(frame.widget, title, explanation, controls: [controls.widget, modeMenu, status])
        picture.playback.mode = mode
        picture.indicator = .ring()
        modeMenu.set("selected", Self.modes.firstIndex { $0.0 == mode } ?? 0)
        modeMenu.onChange(of: "selected") { [weak self] in
            guard let self else { return }
            picture.playback.mode = Self.modes[modeMenu.get("selected", as: Int.self)].0
        }
    }

    // MARK: Loading

    func load(_ url: URL?, of name: String, manager: WebImageManager) {
        picture.alternativeText = localized("Flight over {name}", ["name": name])
        picture.decodesAtDisplaySize = false
        picture.setImage(
            url, manager: manager,
            completion: { [weak self] result in
                switch result {
                case .success(let response): self?.begin(response.image, byteCount: response.data?.count)
                case .failure(.cancelled): break
                case .failure(let error): self?.fail(error)
                }
            })
    }

    func show(_ result: Result<Image, WebImageError>, of name: String) {
        work = nil
        picture.alternativeText = localized("Flight over {name}", ["name": name])
        switch result {
        case .success(let image):
            picture.image = image
            begin(image, byteCount: nil)
        case .failure(let error): fail(error)
        }
    }

    private func begin(_ image: Image, byteCount: Int?) {
        let frames = counted(
            "{count} frame, {width} × {height} pixels", "{count} frames, {width} × {height} pixels",
            count: image.frameCount, ["width": image.width, "height": image.height])
        status.text = ([frames] + (byteCount.map { [Amount.bytes($0)] } ?? [])).joined(separator: ", ")
        modeMenu.set("sensitive", true)
        controls.show(picture)
    }

    private func fail(_ error: WebImageError) {
        hasFailed = true
        status.text = error.userDescription
    }

    /// Whether it shows a frame after the fifth, if it plays and is visible, or has failed.
    var isSettled: Bool {
        if hasFailed { return true }
        guard let player = picture.player else { return work == nil && picture.loadState == .idle }
        return !player.isPlaying || !player.isVisible || player.currentFrameIndex >= 5
    }
}

extension PhotographFlight {
    /// The frames as JPEG files, which are decoded one by one. Blocks the calling thread.
    func sequence() throws(WebImageError) -> Image {
        var files: [Data] = []
        for index in 0..<Self.frameCount {
            files.append(try CodecRegistry.shared.encode(frame(index, nil), as: .jpeg))
        }
        return try Image(frames: files, durations: [Self.frameDuration])
    }

    /// The frames on one image of four columns. Blocks the calling thread.
    func spriteSheet() throws(WebImageError) -> Image {
        let first = try frame(0, nil)
        let (width, height, columns) = (first.width, first.height, 4)
        var sheet = try MutablePixelBuffer(width: width * columns, height: height * Self.frameCount / columns)
        let stride = sheet.bytesPerRow
        var rects: [PixelRect] = []
        for index in 0..<Self.frameCount {
            let pixels = try frame(index, nil).pixels
            let (x, y) = (index % columns * width, index / columns * height)
            rects.append(PixelRect(x: x, y: y, width: width, height: height))
            sheet.withUnsafeMutableBytes { bytes in
                pixels.withUnsafeBytes { source in
                    for row in 0..<height {
                        let (start, target) = (row * pixels.bytesPerRow, (y + row) * stride + x * 4)
                        UnsafeMutableRawBufferPointer(rebasing: bytes[target..<target + width * 4])
                            .copyBytes(from: source[start..<start + width * 4])
                    }
                }
            }
        }
        return try Image(
            spriteSheet: sheet.freeze(isOpaque: true), contentRects: rects, durations: [Self.frameDuration])
    }
}
