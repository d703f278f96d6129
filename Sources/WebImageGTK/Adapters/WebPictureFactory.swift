public import CWebImageGTK
import WebImage

/// Makes the cells of a `GtkListView` or `GtkGridView`, each with a ``WebPicture``, and loads what they show at the right time.
///
/// ```swift
/// let pictures = WebPictureFactory { picture, item in
///     picture.setImage(urls[item.position], thumbnail: Thumbnail(width: 200, height: 150))
/// }
/// let grid = gtk_grid_view_new(selection, pictures.factory)
/// ```
///
/// | list | load |
/// |---|---|
/// | bind | begins, with low priority: GTK binds far more cells than can be seen |
/// | map | gets its own priority |
/// | unmap | gets a low one again |
/// | unbind | is cancelled, and the picture let go |
///
/// The `GtkListItemFactory` owns what it needs: this object need not be kept.
@MainActor public final class WebPictureFactory {
    /// An item of the list, as one cell shows it.
    public struct Item {
        /// Its place in the list.
        public let position: Int
        /// The model's GObject; `nil` if it has been taken away meanwhile.
        public let object: OpaquePointer?
        /// GTK's `GtkListItem`.
        public let listItem: OpaquePointer
    }

    /// The `GtkListItemFactory`; list views take the reference over, so give it to one of them.
    public let factory: OpaquePointer

    /// Makes a factory.
    ///
    /// - Parameters:
    ///   - makeCell: the widget of a cell around a new picture; the picture's own widget by default. The place for size request,
    ///     content mode, indicator and transition.
    ///   - bind: gives the picture the URL of an item.
    public init(
        makeCell: @escaping @MainActor (WebPicture) -> UnsafeMutablePointer<GtkWidget> = { $0.widget },
        bind: @escaping @MainActor (WebPicture, Item) -> Void
    ) {
        let pointer = ObjectPointer(gtk_signal_list_item_factory_new())
        factory = pointer.opaque
        pointer.onSignal("setup") { (listItem: ObjectPointer) in
            let picture = WebPicture()
            picture.imageSlot.offscreenLoading = .demote
            gtk_list_item_set_child(listItem.opaque, makeCell(picture))
            Self.key.set(picture, on: listItem)
            listItem.onChange(of: "selected") { [weak picture] in
                picture?.isHighlighted = gtk_list_item_get_selected(listItem.opaque) != 0
            }
        }
        pointer.onSignal("bind") { (listItem: ObjectPointer) in
            guard let picture = Self.key.value(of: listItem) else { return }
            picture.isHighlighted = gtk_list_item_get_selected(listItem.opaque) != 0
            bind(
                picture,
                Item(
                    position: Int(gtk_list_item_get_position(listItem.opaque)),
                    object: gtk_list_item_get_item(listItem.opaque).map { OpaquePointer($0) },
                    listItem: listItem.opaque))
        }
        pointer.onSignal("unbind") { (listItem: ObjectPointer) in
            Self.key.value(of: listItem)?.prepareForReuse()
        }
        pointer.onSignal("teardown") { (listItem: ObjectPointer) in
            gtk_list_item_set_child(listItem.opaque, nil)
            Self.key.set(nil, on: listItem)
        }
    }

    /// The picture of a cell; `nil` for a list item of another factory.
    public static func picture(of listItem: OpaquePointer) -> WebPicture? { key.value(of: ObjectPointer(listItem)) }

    private static let key = AssociationKey<WebPicture>("web-image-cell")
}
