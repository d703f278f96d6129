/// What is behind the image in the viewer.
enum PhotoBackground: String, Codable, CaseIterable, Sendable {
    /// That of windows, light or dark.
    case system
    case black, gray, white
    /// Squares, which transparent images show through.
    case checkerboard

    var title: String {
        switch self {
        case .system: localized("Like the window")
        case .black: localized("Black")
        case .gray: localized("Gray")
        case .white: localized("White")
        case .checkerboard: localized("Checkerboard")
        }
    }
}

/// The style of the whole program.
enum ColorSchemeChoice: String, Codable, CaseIterable, Sendable {
    case system, light, dark

    var title: String {
        switch self {
        case .system: localized("Like the desktop")
        case .light: localized("Light")
        case .dark: localized("Dark")
        }
    }
}
