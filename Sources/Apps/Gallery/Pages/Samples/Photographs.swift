import CWebImageGTK
import Dispatch
import FoundationEssentials
import WebImageGTK

/// A photograph to show on the pages.
struct Photograph: Sendable, Hashable {
    let name: String
    let url: URL
}

/// Finds photographs among the backgrounds of the user and of the system, and draws landscapes where there are none.
struct PhotographSearch: Sendable {
    /// The folder in which GNOME stores the backgrounds that a user adds, and those in which systems install backgrounds.
    var folders = [
        (g_get_user_data_dir().map { String(cString: $0) } ?? "") + "/backgrounds",
        "/usr/share/backgrounds", "/usr/share/wallpapers",
    ]
    var count = 6

    /// Photographs with rich colors and details, which come first. Many systems have them in a package of MATE.
    private static let preferredNames = [
        "LadyBird", "Dune", "Garden", "Aqua", "YellowFlower", "TwoWings", "FreshFlower", "Storm",
    ]

    /// Returns ``count`` photographs. Reads folders and the beginnings of files, and blocks the calling thread.
    func photographs() -> [Photograph] {
        var found: [Photograph] = []
        for path in folders.flatMap(candidates) where found.count < count {
            let url = URL(filePath: path)
            let name = Self.name(of: url)
            // The same photograph in several sizes counts once.
            let isKnown = found.contains { name.hasPrefix($0.name) || $0.name.hasPrefix(name) }
            guard !isKnown, Self.isLarge(url) else { continue }
            found.append(Photograph(name: name, url: url))
        }
        guard found.isEmpty else { return found }
        return (0..<count).compactMap { number in
            URL(string: "\(SampleLoader.scheme):landscape/\(number)").map {
                Photograph(name: localized("Landscape {number}", ["number": number + 1]), url: $0)
            }
        }
    }

    /// The paths of image files in `folder`, the preferred first, then those in folders of nature.
    private func candidates(in folder: String) -> [String] {
        guard let names = try? FileManager.default.subpathsOfDirectory(atPath: folder) else { return [] }
        // PNG files in these folders are drawings.
        let files = names.filter { name in [".jpg", ".jpeg", ".webp"].contains { name.lowercased().hasSuffix($0) } }
        func rank(_ path: String) -> Int {
            let name = Self.name(of: URL(filePath: path))
            if let place = Self.preferredNames.firstIndex(of: name) { return place }
            return path.contains("nature") ? 100 : 200
        }
        return files.sorted { (rank($0), $0) < (rank($1), $1) }.map { "\(folder)/\($0)" }
    }

    private static func name(of url: URL) -> String { url.deletingPathExtension().lastPathComponent }

    private static func isLarge(_ url: URL) -> Bool {
        guard let data = try? Data(contentsOf: url, options: .mappedIfSafe),
            let size = try? CodecRegistry.shared.info(of: data).size
        else { return false }
        return max(size.width, size.height) >= 1_000
    }
}

/// The objects that the pages share: photographs, and a manager that also loads the files made from them.
@MainActor final class Samples {
    /// The session's manager with two more loaders.
    let manager: WebImageManager
    private let search: PhotographSearch
    private var found: Task<[Photograph], Never>?

    init(session: GallerySession, search: PhotographSearch = PhotographSearch()) {
        self.search = search
        var configuration = session.manager.configuration
        let loaders: ImageLoaderGroup = []
        for loader in configuration.loaders.loaders + [SampleLoader(), SlowLoader()] { loaders.add(loader) }
        configuration.loaders = loaders
        manager = WebImageManager(configuration: configuration)
    }

    /// Returns at least one photograph.
    func photographs() async -> [Photograph] {
        if let found { return await found.value }
        let task = Task { [search] in await DispatchQueue.files.run { _ in search.photographs() } }
        found = task
        return await task.value
    }
}
