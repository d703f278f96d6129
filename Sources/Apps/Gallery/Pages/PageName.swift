/// The pages that teach, by their names on the command line.
enum PageName: String, CaseIterable {
    case progressive, processors, views, buttons, animations
    #if WEBIMAGE_MAP
        case markers
    #endif

    var title: String {
        switch self {
        case .progressive: "Progressive loading"
        case .processors: "Processors"
        case .views: "Views"
        case .buttons: "Buttons"
        case .animations: "Animations"
        #if WEBIMAGE_MAP
            case .markers: "Map markers"
        #endif
        }
    }

    /// The content of the page, in one sentence.
    var subtitle: String {
        switch self {
        case .progressive: "See what each format shows before the whole file has arrived."
        case .processors: "Resize, crop, blur and color a photograph, and copy the code for it."
        case .views: "Content modes, transitions, placeholders, indicators and failures."
        case .buttons: "An image and a background for each state of a button."
        case .animations: "Play, scrub and reverse animations of every format."
        #if WEBIMAGE_MAP
            case .markers: "Photographs and animations at places on a map."
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
