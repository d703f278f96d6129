/// The pages that teach, by their names on the command line.
enum PageName: String, CaseIterable {
    case progressive, processors, views, buttons, animations
    #if WEBIMAGE_MAP
        case markers
    #endif

    var title: String {
        switch self {
        case .progressive: localized("Progressive loading")
        case .processors: localized("Processors")
        case .views: localized("Views")
        case .buttons: localized("Buttons")
        case .animations: localized("Animations")
        #if WEBIMAGE_MAP
            case .markers: localized("Map markers")
        #endif
        }
    }

    /// The content of the page, in one sentence.
    var subtitle: String {
        switch self {
        case .progressive: localized("See what each format shows before the whole file has arrived.")
        case .processors: localized("Resize, crop, blur and color a photograph, and copy the code for it.")
        case .views: localized("Content modes, transitions, placeholders, indicators and failures.")
        case .buttons: localized("An image and a background for each state of a button.")
        case .animations: localized("Play, scrub and reverse animations of every format.")
        #if WEBIMAGE_MAP
            case .markers: localized("Photographs and animations at places on a map.")
        #endif
        }
    }

    var iconName: String {
        switch self {
        case .progressive: "folder-download-symbolic"
        case .processors: "applications-graphics-symbolic"
        case .views: "view-grid-symbolic"
        case .buttons: "input-mouse-symbolic"
        case .animations: "media-playback-start-symbolic"
        #if WEBIMAGE_MAP
            case .markers: "mark-location-symbolic"
        #endif
        }
    }
}
