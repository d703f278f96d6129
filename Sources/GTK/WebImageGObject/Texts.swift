internal import CWebImageGObject
internal import CWebImageGTK
internal import SystemText

/// What this library says, in the user's language.
let texts = TextDomain("libwebimage-gtk-1", folder: folderOfTranslations)

/// The folder beside the library; `nil` where it has none.
private let folderOfTranslations: String? = {
    guard let folder = webimage_library_folder() else { return nil }
    defer { g_free(folder) }
    return ["../share/locale", "../../share/locale"].map { "\(String(cString: folder))/\($0)" }.first {
        g_file_test($0, G_FILE_TEST_IS_DIR) != 0
    }
}()
