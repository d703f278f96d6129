import CWebImageGTK
import FoundationEssentials
import GTKObjects
import ProgramSupport
import WebImageGTK

/// The features of a view: content modes, transitions, placeholders, indicators, failures, a highlighted image.
@MainActor final class ViewsPage: PhotographPage {
    private var pictures: [any ImageSlotOwner] = []
    /// Tells slow loads of the same photograph apart.
    private var loadNumber = 0

    init(samples: Samples) {
        super.init(
            samples: samples,
            introduction:
                localized(
                    "A WebPicture shows the image of a URL in a GtkPicture. Each example names the property or option that it uses."
                )
        )
    }

    override var slots: [ImageSlot] { pictures.map(\.imageSlot) }

    override func fill(with photographs: [Photograph]) {
        for part in [
            contentModes(photographs), transitions(photographs), placeholders(photographs), indicators(photographs),
            failures(photographs), otherViews(photographs),
        ] { content.append(part) }
    }

    // MARK: Examples

    private func contentModes(_ photographs: [Photograph]) -> ObjectPointer {
        let modes: [(ImageContentMode, String, String)] = [
            (.scaleAspectFit, localized("Aspect fit"), localized("The whole image, with space beside it.")),
            (
                .scaleAspectFill, localized("Aspect fill"),
                localized("Fills the view, and crops what extends beyond it.")
            ),
            (.scaleToFill, localized("Scale to fill"), localized("Fills the view, and ignores the proportions.")),
            (.center, localized("Center"), localized("At its own size, in the middle.")),
            (.topLeft, localized("Top left"), localized("At its own size, from a corner.")),
            (.bottom, localized("Bottom"), localized("At its own size, at an edge.")),
        ]
        let cards = modes.map { mode, title, explanation in
            let (picture, frame) = makePicture(of: photographs[0], isSquare: true)
            picture.contentMode = mode
            let usesOwnSize = ![.scaleAspectFit, .scaleAspectFill, .scaleToFill].contains(mode)
            let thumbnail = usesOwnSize ? Thumbnail(.pixels(width: 320)) : nil
            picture.setImage(photographs[0].url, thumbnail: thumbnail, manager: samples.manager)
            return ObjectPointer.card(frame, title, explanation)
        }
        return .section(
            localized("Content modes"),
            localized("contentMode lays out the image in the view, here a wide photograph in square views."),
            [.flow(cards, columns: 6)])
    }

    private func transitions(_ photographs: [Photograph]) -> ObjectPointer {
        let transitions: [(ImageTransition, String, String)] = [
            (.fade(duration: .milliseconds(600)), localized("Fade"), ".fade()"),
            (.flip(from: GTK_POS_LEFT), localized("Flip"), ".flip(from: GTK_POS_LEFT)"),
            (.slide(from: GTK_POS_RIGHT), localized("Slide"), ".slide(from: GTK_POS_RIGHT)"),
            (.zoomIn(), localized("Zoom in"), ".zoomIn()"),
            (.zoomOut(), localized("Zoom out"), ".zoomOut()"),
        ]
        let cards = transitions.enumerated().map { number, example in
            let (transition, title, code) = example
            let (picture, frame) = makePicture(of: photographs[around: number])
            picture.setImage(photographs[around: number].url, manager: samples.manager)
            picture.transition = transition
            var shown = number
            let button = ObjectPointer.button(localized("Play transition")) { [weak self, weak picture] in
                guard let self, let picture else { return }
                shown += 1
                let photograph = photographs[around: shown]
                picture.alternativeText = photograph.name
                picture.setImage(
                    photograph.url, options: [.forceTransition, .ignorePlaceholder], manager: samples.manager)
            }
            button.setAccessibleLabel(localized("Play transition {title}", ["title": title]))
            return ObjectPointer.card(frame, title, code, controls: [button])
        }
        return .section(
            localized("Transitions"),
            localized(
                "transition is how a new image replaces the former one. There is none if the desktop's animations are off."
            ),
            [.flow(cards)])
    }

    private func placeholders(_ photographs: [Photograph]) -> ObjectPointer {
        let examples: [(String, String, (Photograph) -> Placeholder)] = [
            (
                localized("Color"), localized("One color, such as the image's average."),
                { _ in .color(Color(red: 0.35, green: 0.5, blue: 0.4)) }
            ),
            ("BlurHash", localized("About 30 characters, which a server sends with the URL."), { _ in .color(.clear) }),
            (
                "ThumbHash", localized("Like a BlurHash, with the proportions and transparency."),
                { _ in .color(.clear) }
            ),
        ]
        let cards = examples.enumerated().map { number, example in
            let photograph = photographs[around: number + 1]
            let (picture, frame) = makePicture(of: photograph)
            let placeholder = LockedBox(example.2(photograph))
            let button = slowLoadButton(example.0, photograph, picture) { placeholder.withLock { $0 } }
            picture.setImage(nil, placeholder: placeholder.withLock { $0 })
            if number > 0 {
                hash(photograph, usesThumbHash: number == 2) { [weak picture] hash in
                    placeholder.withLock { $0 = hash }
                    if picture?.image == nil { picture?.setImage(nil, placeholder: hash) }
                }
            }
            return ObjectPointer.card(frame, example.0, example.1, controls: [button])
        }
        return .section(
            localized("Placeholders"),
            localized("setImage(_:placeholder:) shows a placeholder until the image has loaded."), [.flow(cards)])
    }

    /// Computes the hash of a photograph on another thread. A server does that once and stores it.
    private func hash(
        _ photograph: Photograph, usesThumbHash: Bool, _ body: @escaping @MainActor (Placeholder) -> Void
    ) {
        let request = WebImageRequest(photograph.url, thumbnail: Thumbnail(.pixels(width: 96)))
        Task { [manager = samples.manager] in
            guard let image = try? await manager.image(for: request) else { return }
            let placeholder: Placeholder? =
                usesThumbHash
                ? (try? ThumbHash(of: image)).map { .thumbHash($0.base64) }
                : (try? BlurHash(of: image)).map { .blurHash($0.string) }
            if let placeholder { body(placeholder) }
        }
    }

    private func indicators(_ photographs: [Photograph]) -> ObjectPointer {
        let light = Color(red: 1, green: 1, blue: 1, alpha: 0.9)
        let examples: [(ImageIndicator, String, String, isLengthKnown: Bool)] = [
            (
                .ring(diameter: 48, color: light), localized("Ring"), localized("Closes with the progress. .ring()"),
                true
            ),
            (.bar(color: light), localized("Bar"), localized("Fills with the progress. .bar()"), true),
            (
                .spinner(diameter: 40, color: light), localized("Spinner"),
                localized("For loads of unknown length. .spinner()"), false
            ),
        ]
        let cards = examples.enumerated().map { number, example in
            let (indicator, title, explanation, isLengthKnown) = example
            let photograph = photographs[around: number + 3]
            let (picture, frame) = makePicture(of: photograph)
            picture.indicator = indicator
            let placeholder = Placeholder.color(Color(red: 0.24, green: 0.28, blue: 0.33))
            if isLengthKnown {
                var plan = SlowLoader.Plan(of: photograph.url)
                (plan.milliseconds, plan.percent) = (0, 62)
                pictures.removeLast()
                picture.setImage(plan.url, placeholder: placeholder, manager: samples.manager)
            } else {
                picture.setImage(nil, placeholder: placeholder)
            }
            let button = slowLoadButton(title, photograph, picture, isLengthKnown: isLengthKnown) { placeholder }
            return ObjectPointer.card(frame, title, explanation, controls: [button])
        }
        return .section(
            localized("Indicators"),
            localized("indicator shows that an image is loading. Two of these loads have stopped halfway."),
            [.flow(cards)])
    }

    private func failures(_ photographs: [Photograph]) -> ObjectPointer {
        let missing = URL(string: "file:///no/such/photograph.jpg")
        let (broken, brokenFrame) = makePicture(of: photographs[0], isWaitedFor: false)
        broken.alternativeText = localized("Missing photograph")
        broken.failureImage = Self.failureImage
        broken.retriesOnTap = true
        let status = ObjectPointer.caption("", "caption", "dim-label")
        var attempts = 0
        broken.onLoadStateChange = { state in
            guard case .failed(let error) = state else { return }
            attempts += 1
            status.text = localized("{error} (attempt {number})", ["error": error.userDescription, "number": attempts])
        }
        broken.setImage(missing, manager: samples.manager)
        let retry = ObjectPointer.button(localized("Try again")) { [weak broken] in _ = broken?.retry() }
        retry.setAccessibleLabel(localized("Try to load the missing photograph again"))

        let (mended, mendedFrame) = makePicture(of: photographs[around: 1], isWaitedFor: false)
        mended.failureImage = Self.failureImage
        mended.setImage(missing, manager: samples.manager)
        let mend = ObjectPointer.button(localized("Load the right URL")) { [weak self, weak mended] in
            guard let self else { return }
            mended?.setImage(photographs[around: 1].url, options: .fadeIn, manager: samples.manager)
        }
        return .section(
            localized("Failures"),
            localized("An error says what is wrong. failureImage is shown instead of the image."),
            [
                .flow([
                    .card(
                        brokenFrame, localized("Retry"),
                        localized("retry() and, with retriesOnTap, a click load again."),
                        controls: [status, retry]),
                    .card(
                        mendedFrame, localized("Another URL"), localized("setImage(_:) replaces the failed load."),
                        controls: [mend]),
                ])
            ])
    }

    private func otherViews(_ photographs: [Photograph]) -> ObjectPointer {
        let (highlighted, highlightedFrame) = makePicture(of: photographs[0])
        highlighted.setImage(photographs[0].url, manager: samples.manager)
        highlighted.highlighted.setImage(
            photographs[0].url, thumbnail: Thumbnail(.pixels(width: 480)), processors: [.sepia()],
            manager: samples.manager)
        let hold = ObjectPointer(gtk_toggle_button_new_with_label(localized("Highlight")))
        hold.onSignal("toggled") { [weak highlighted] in highlighted?.isHighlighted = hold.get("active") }

        let icon = ObjectPointer(gtk_image_new()).set("pixel-size", 140)
        let paintable = WebPaintable(in: icon.widget)
        paintable.contentMode = .scaleAspectFill
        paintable.alternativeText = photographs[around: 2].name
        paintable.setImage(
            photographs[around: 2].url, thumbnail: Thumbnail(.pixels(width: 280, height: 280), mode: .aspectFill),
            processors: [.circle()], manager: samples.manager)
        pictures.append(paintable)
        return .section(
            localized("More"),
            localized("Any widget that draws a GdkPaintable can show images of URLs."),
            [
                .flow([
                    .card(
                        highlightedFrame, localized("Highlighted image"),
                        localized("highlighted is shown under the pointer, and while isHighlighted is set."),
                        controls: [hold]),
                    .card(
                        icon, localized("Circle in a GtkImage"), localized("WebPaintable with the processor .circle().")
                    ),
                ])
            ])
    }

    // MARK: Parts of examples

    /// - Parameter isWaitedFor: whether the page is settled and complete only with this image.
    private func makePicture(
        of photograph: Photograph, isSquare: Bool = false, isWaitedFor: Bool = true
    ) -> (picture: WebPicture, frame: ObjectPointer) {
        let frame = isSquare ? PictureFrame(width: 160, height: 160, isFlexible: false) : PictureFrame()
        frame.picture.alternativeText = photograph.name
        if isWaitedFor { pictures.append(frame.picture) }
        return (frame.picture, frame.widget)
    }

    /// An exclamation mark.
    private static let failureImage: Placeholder = {
        let color = Color(red: 0.55, green: 0.16, blue: 0.18)
        guard let ground = try? Image(color: color, size: PointSize(width: 220, height: 140)),
            let mark = try? Image(color: .white, size: PointSize(width: 12, height: 44)),
            let bar = try? mark.processed(by: [.roundedCorners(radius: 6)]),
            let dot = try? mark.processed(by: [.circle()]),
            let image = try? ground.processed(by: [.blend(bar, x: 104, y: 38), .blend(dot, x: 104, y: 90)])
        else { return .color(color) }
        return .image(image)
    }()

    /// Returns a button that loads a photograph slowly, each time anew.
    private func slowLoadButton(
        _ title: String, _ photograph: Photograph, _ picture: WebPicture, isLengthKnown: Bool = true,
        placeholder: @escaping () -> Placeholder
    ) -> ObjectPointer {
        let button = ObjectPointer.button(localized("Load slowly")) { [weak self, weak picture] in
            guard let self, let picture else { return }
            loadNumber += 1
            var plan = SlowLoader.Plan(of: photograph.url)
            (plan.isLengthKnown, plan.number) = (isLengthKnown, loadNumber)
            picture.setImage(plan.url, placeholder: placeholder(), options: .fadeIn, manager: samples.manager)
        }
        button.setAccessibleLabel(localized("Load slowly: {title}", ["title": title]))
        return button
    }
}
