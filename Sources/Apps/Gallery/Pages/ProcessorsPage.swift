import CWebImageAdwaita
import CWebImageGTK
import FoundationEssentials
import GTKObjects
import WebImageGTK

/// A chain of processors with live parameters, a photograph before and after it, and the code for it.
@MainActor final class ProcessorsPage: PhotographPage {
    private let before = PictureFrame(width: 300, height: 220)
    private let after = PictureFrame(width: 300, height: 220)
    private let beforeLabel = ObjectPointer.caption("", "caption", "dim-label", "numeric")
    private let afterLabel = ObjectPointer.caption("", "caption", "dim-label", "numeric")
    private let group = ObjectPointer.group(localized("Processors"))
    private let codeLabel = ObjectPointer(gtk_label_new(""))
    private let photographRow = ObjectPointer.menuRow(localized("Photograph"), [])
    private let session: GallerySession
    private(set) var rows: [ProcessorRow] = []
    private var photographs: [Photograph] = []
    /// The photograph at the size that is processed, and the images that are combined with it.
    private var material: Material?
    private var hasFailedToLoad = false
    private lazy var work = LatestWork<Order, Outcome>({ $0.run() }, show: { [weak self] in self?.show($1) })

    /// The image that the chain is applied to, with the operands of its processors.
    private struct Material: Sendable {
        let image: Image
        let operands: ProcessorOperands
        /// Tells materials apart.
        let number: Int
    }

    private struct Order: Sendable, Equatable {
        let recipe: ProcessorRecipe
        let material: Material

        static func == (one: Order, other: Order) -> Bool {
            one.recipe == other.recipe && one.material.number == other.material.number
        }

        func run() -> Outcome {
            let start = ContinuousClock.now
            let result = Result { () throws(WebImageError) in
                try recipe.apply(to: material.image, with: material.operands)
            }
            return Outcome(result: result, duration: ContinuousClock.now - start)
        }
    }

    private struct Outcome: Sendable {
        let result: Result<Image, WebImageError>
        let duration: Duration
    }

    /// The width in pixels of the photograph before the processors.
    private static let width = 720

    init(samples: Samples, session: GallerySession) {
        self.session = session
        super.init(
            samples: samples,
            introduction:
                localized(
                    "Processors change an image after it was decoded. Results are cached under the processors' names and parameters. Change the chain, and copy the code for it."
                )
        )
    }

    // MARK: State

    /// The processors, with their parameters.
    var recipe = ProcessorRecipe.example {
        didSet {
            // A row that changes a parameter has it already.
            if rows.map(\.kind.name) != recipe.steps.map(\.name) || rows.map(\.values) != recipe.steps.map(\.values) {
                makeRows()
            }
            update()
        }
    }

    var code: String { recipe.code }
    /// The result on display; `nil` before there is one, and after an error.
    var result: Image? { after.picture.image }

    override var isSettled: Bool { isFilled && (material != nil || hasFailedToLoad) && work.isIdle }
    override var isComplete: Bool { isSettled && result != nil }

    // MARK: Widgets

    override func fill(with photographs: [Photograph]) {
        self.photographs = photographs
        for frame in [before, after] { frame.picture.contentMode = .scaleAspectFit }
        let pictures = ObjectPointer.column(
            spacing: 18,
            [
                .card(before.widget, localized("Before"), controls: [beforeLabel]),
                .card(after.widget, localized("After"), controls: [afterLabel]),
            ])
        photographRow.fillMenu(photographs.map(\.name))
        photographRow.onChange(of: "selected") { [weak self] in self?.load() }
        let add = makeAddButton()
        adw_preferences_group_set_header_suffix(group.as(), add.widget)
        let controls = ObjectPointer.column(spacing: 24, [.group("", [photographRow]), group, makeCodeView()])
        content.append(.flow([pictures, controls], columns: 2))
        makeRows()
        update()
        load()
    }

    /// Returns a button with a list of all processors.
    private func makeAddButton() -> ObjectPointer {
        let popover = ObjectPointer(gtk_popover_new())
        let list = ObjectPointer.column()
        for kind in ProcessorKind.all {
            let entry = ObjectPointer.button(kind.title) { [weak self] in
                gtk_popover_popdown(popover.as())
                self?.recipe.steps.append(ProcessorRecipe.Step(kind))
            }
            ObjectPointer(gtk_button_get_child(entry.as())).set("xalign", 0.0)
            list.append(entry.style("flat"))
        }
        let view = ObjectPointer.scrolling(list).set("propagate-natural-height", true)
            .set("max-content-height", 320).set("propagate-natural-width", true)
        gtk_popover_set_child(popover.as(), view.widget)
        let button = ObjectPointer(gtk_menu_button_new()).set("icon-name", "list-add-symbolic")
            .named(localized("Add a processor")).style("flat")
        gtk_menu_button_set_popover(button.opaque, popover.widget)
        return button
    }

    private func makeCodeView() -> ObjectPointer {
        codeLabel.set("selectable", true).set("xalign", 0.0).set("yalign", 0.0).style("monospace").style("caption")
            .margins(12)
        codeLabel.setAccessibleLabel(localized("Code"))
        let view = ObjectPointer(gtk_scrolled_window_new()).style("card")
        gtk_scrolled_window_set_policy(view.opaque, GTK_POLICY_AUTOMATIC, GTK_POLICY_NEVER)
        gtk_scrolled_window_set_child(view.opaque, codeLabel.widget)
        let copy = ObjectPointer.iconButton("edit-copy-symbolic", localized("Copy the code")) { [weak self] in
            guard let self else { return }
            Clipboard.copy(code, of: widget)
            session.showToast(localized("Code copied"))
        }
        let heading = ObjectPointer.label(localized("Code"), "heading").set("hexpand", true).aligned(
            nil, GTK_ALIGN_CENTER)
        return .column(spacing: 6, [.row([heading, copy.style("flat")]), view])
    }

    private func makeRows() {
        // Removing a row destroys its widget.
        let expansions = rows.map(\.isExpanded)
        for row in rows { adw_preferences_group_remove(group.as(), row.widget.widget) }
        rows = recipe.steps.enumerated().compactMap { index, step in
            guard let kind = step.kind else { return nil }
            var moves: [ProcessorRow.Move] = [.remove]
            if index > 0 { moves.append(.up) }
            if index < recipe.steps.count - 1 { moves.append(.down) }
            return ProcessorRow(
                kind, step.values, moves: moves, onMove: { [weak self] in self?.move(index, $0) },
                onChange: { [weak self] in self?.recipe.steps[index].values = $0 })
        }
        for row in rows { adw_preferences_group_add(group.as(), row.widget.widget) }
        guard !expansions.isEmpty, rows.count > expansions.count else { return }
        for (row, isExpanded) in zip(rows, expansions) { row.isExpanded = isExpanded }
        // The parameters of a processor that was just added.
        rows.last?.isExpanded = true
    }

    func move(_ index: Int, _ move: ProcessorRow.Move) {
        guard recipe.steps.indices.contains(index) else { return }
        var steps = recipe.steps
        // The rows that are open stay open.
        var expansions = rows.map(\.isExpanded)
        let target: Int
        switch move {
        case .remove:
            steps.remove(at: index)
            expansions.remove(at: index)
            target = min(index, steps.count - 1)
        case .up where index > 0: target = index - 1
        case .down where index < steps.count - 1: target = index + 1
        case .up, .down: return
        }
        if move != .remove {
            steps.swapAt(index, target)
            expansions.swapAt(index, target)
        }
        recipe.steps = steps
        for (row, isExpanded) in zip(rows, expansions) { row.isExpanded = isExpanded }
        guard rows.indices.contains(target) else { return }
        rows[target].focus(move)
    }

    // MARK: Processing

    private func load() {
        let index = photographRow.get("selected", as: Int.self)
        guard photographs.indices.contains(index) else { return }
        let (photograph, other) = (photographs[index], photographs[around: index + 1])
        for frame in [before, after] { frame.picture.alternativeText = photograph.name }
        let thumbnail = Thumbnail(.pixels(width: Self.width))
        let urls = [photograph.url, other.url]
        (material, hasFailedToLoad) = (nil, false)
        Task { [weak self, manager = samples.manager] in
            do throws(WebImageError) {
                let image = try await manager.image(for: WebImageRequest(urls[0], thumbnail: thumbnail))
                let texture = try await manager.image(for: WebImageRequest(urls[1], thumbnail: thumbnail))
                let operands = try await learnQueue.run { _ throws(WebImageError) in
                    try ProcessorOperands(from: texture)
                }
                self?.take(image, operands, of: index)
            } catch {
                self?.fail(error, at: index)
            }
        }
    }

    private func take(_ image: Image, _ operands: ProcessorOperands, of index: Int) {
        // Another photograph may have been chosen meanwhile.
        guard !isClosed, index == photographRow.get("selected", as: Int.self) else { return }
        material = Material(image: image, operands: operands, number: index)
        before.picture.image = image
        beforeLabel.text = localized("{width} × {height} pixels", ["width": image.width, "height": image.height])
        update()
    }

    private func fail(_ error: WebImageError, at index: Int) {
        guard !isClosed, index == photographRow.get("selected", as: Int.self) else { return }
        hasFailedToLoad = true
        beforeLabel.text = error.userDescription
    }

    private func update() {
        guard !isClosed else { return }
        codeLabel.text = String(code.dropLast())
        if let material { work.start(Order(recipe: recipe, material: material)) }
    }

    private func show(_ outcome: Outcome) {
        guard !isClosed else { return }
        switch outcome.result {
        case .success(let image):
            after.picture.image = image
            let duration = Amount.duration(outcome.duration / .seconds(1))
            afterLabel.text = localized(
                "{width} × {height} pixels, {time}", ["width": image.width, "height": image.height, "time": duration])
        case .failure(let error):
            after.picture.prepareForReuse()
            afterLabel.text = error.userDescription
        }
    }
}
