import Dispatch
import FoundationEssentials
import Glibc
import WebImageGTK

/// The image as the desktop's background.
extension PhotoViewer {
    /// Asks the desktop to show the image, as it is on screen, as its background. The desktop shows a preview first.
    ///
    /// - Parameter portal: another one in tests.
    func setAsWallpaper(through portal: DesktopPortal = DesktopPortal()) async {
        guard let url = currentURL else { return }
        let format = canvas.image?.format
        var export = PhotoExport(quality: 0.95, quarterTurns: canvas.quarterTurns)
        // Others are not known to all desktops.
        if format != .jpeg, format != .png { export.format = .jpeg }
        do throws(PhotoExport.Failure) {
            let (file, folder) = try await Self.wallpaperFile(of: url, export, session.manager)
            do throws(DesktopPortal.Failure) {
                try await portal.setWallpaper(file.filePath)
                session.showToast(localized("{file} is the wallpaper", ["file": url.displayName]))
            } catch .cancelled {
            } catch {
                session.showToast(localized("The wallpaper was not set: {error}", ["error": error]))
            }
            if let folder { await DispatchQueue.files.run { _ in Self.remove(file, folder) } }
        } catch {
            session.showToast(localized("The wallpaper was not set: {error}", ["error": error]))
        }
    }

    /// Returns the file itself, or a copy in a folder that is to be removed. The desktop makes a copy of its own.
    private static func wallpaperFile(
        of url: URL, _ export: PhotoExport, _ manager: WebImageManager
    ) async throws(PhotoExport.Failure) -> (file: URL, folder: String?) {
        if url.isFileURL, export.format == nil, export.quarterTurns == 0 { return (url, nil) }
        let folder = await DispatchQueue.files.run { _ in makeFolder() }
        guard let folder else { throw .file(localized("No temporary folder can be made")) }
        let file = URL(filePath: folder + "/wallpaper")
        do throws(PhotoExport.Failure) { try await export.write(url, to: file, manager: manager) } catch {
            await DispatchQueue.files.run { _ in remove(file, folder) }
            throw error
        }
        return (file, folder)
    }

    private nonisolated static func makeFolder() -> String? {
        let folder = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
        var pattern = Array((folder + "/gallery-XXXXXX").utf8CString)
        return mkdtemp(&pattern).map { String(cString: $0) }
    }

    private nonisolated static func remove(_ file: URL, _ folder: String) {
        _ = file.filePath.withCString { unlink($0) }
        rmdir(folder)
    }
}
