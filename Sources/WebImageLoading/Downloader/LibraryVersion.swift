/// The version of this library and its tool.
package enum LibraryVersion {
    package static let text = "0.1"
}
