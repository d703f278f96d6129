extension GalleryWindow {
    /// A page of the window, as the command line names it.
    enum Page: Equatable {
        case photos, statistics
        /// A page that teaches, or their list.
        case learn(PageName?)

        var name: String {
            switch self {
            case .photos: "photos"
            case .statistics: "statistics"
            case .learn(let name): name?.rawValue ?? "learn"
            }
        }

        static let all: [Page] = [.photos, .learn(nil), .statistics] + PageName.allCases.map { .learn($0) }
    }
}
