import Glibc
import WebImageGTK

/// The renderer of GTK. By default it uses OpenGL. On a machine without a graphics card, OpenGL runs in software, and the first frame takes
/// most of a second more than with cairo.
struct RendererChoice {
    /// GTK's variable for the user's choice.
    static let variable = "GSK_RENDERER"

    /// Devices of graphics cards, each that of another kind of driver: Linux, NVIDIA, Windows, ARM and Qualcomm.
    private static let devices = ["dri/renderD*", "nvidiactl", "dxg", "mali0", "kgsl-3d0"]

    /// The folder of devices.
    var folder = "/dev"

    /// Whether ``apply()`` has set the variable, which programs that are started from here should not get.
    @MainActor private(set) static var isApplied = false

    /// Has GTK draw with cairo if this machine has no graphics card that the user may use. A choice of the user takes precedence. Called
    /// before GTK starts.
    @MainActor func apply() {
        guard getenv(Self.variable) == nil, !hasGraphicsCard else { return }
        Self.isApplied = setenv(Self.variable, "cairo", 1) == 0
    }

    var hasGraphicsCard: Bool { Self.devices.contains { isUsable("\(folder)/\($0)") } }

    private func isUsable(_ pattern: String) -> Bool {
        var found = glob_t()
        defer { globfree(&found) }
        guard glob(pattern, 0, nil, &found) == 0 else { return false }
        return (0..<Int(found.gl_pathc)).contains { index in
            found.gl_pathv[index].map { access($0, R_OK | W_OK) == 0 } ?? false
        }
    }
}
