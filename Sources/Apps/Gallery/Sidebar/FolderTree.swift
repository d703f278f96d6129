import FoundationEssentials
import ProgramSupport
import WebImageGTK

/// The folders of the sidebar: those beside the opened folder, and those inside of the folders that the user has opened in the tree.
struct FolderTree: Sendable, Equatable {
    struct Row: Sendable, Equatable {
        let folder: SystemString
        let title: String
        /// 0 for the root.
        let depth: Int
        /// `nil` while it is unknown whether there are folders inside.
        let hasFolders: Bool?
        let isExpanded: Bool
        let isCurrent: Bool
    }

    /// The folder around the opened one; `nil` before one was opened.
    private(set) var root: SystemString?
    private(set) var current: SystemString?
    private(set) var expanded: Set<SystemString> = []
    /// The folders inside of folders, as far as they were read.
    private(set) var content: [SystemString: [SystemString]] = [:]

    /// Makes a folder the opened one. The tree stays if it has the folder.
    ///
    /// - Parameter folder: without a slash at its end.
    mutating func open(_ folder: SystemString) {
        current = folder
        if let root, Self.isInside(folder, root) {
            // The way to it.
            var parent = folder.folder.withoutSlashAtEnd
            while Self.isInside(parent, root), expanded.insert(parent).inserted {
                parent = parent.folder.withoutSlashAtEnd
            }
            return
        }
        let parent = folder.folder.withoutSlashAtEnd
        root = parent.isEmpty ? folder : parent
        expanded = root.map { [$0] } ?? []
        content = [:]
    }

    /// Shows the folders inside of a folder, or hides them.
    mutating func setExpanded(_ folder: SystemString, _ isExpanded: Bool) {
        if isExpanded { expanded.insert(folder) } else { expanded.remove(folder) }
    }

    mutating func note(_ folders: [SystemString: [SystemString]]) { content.merge(folders) { $1 } }

    private static func isInside(_ folder: SystemString, _ root: SystemString) -> Bool {
        folder == root || folder.hasPrefix(root.description.hasSuffix("/") ? root.description : root.description + "/")
    }

    /// The folders whose content the rows need: those that are shown, since a row says whether there are folders inside.
    var unread: [SystemString] { rows.filter { $0.hasFolders == nil }.map(\.folder) }

    /// From top to bottom.
    var rows: [Row] {
        var rows: [Row] = []
        var pending = root.map { [($0, 0)] } ?? []
        while let (folder, depth) = pending.popLast() {
            let (isExpanded, inside) = (expanded.contains(folder), content[folder])
            let name = folder.fileName.description
            rows.append(
                Row(
                    folder: folder, title: name.isEmpty ? folder.description : name, depth: depth,
                    hasFolders: inside.map { !$0.isEmpty }, isExpanded: isExpanded, isCurrent: folder == current))
            if isExpanded { pending += (inside ?? []).reversed().map { ($0, depth + 1) } }
        }
        return rows
    }
}
