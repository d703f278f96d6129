public import CWebImageGTK
internal import GTKObjects
import WebImage

extension WebPicture {
    /// Returns a `GtkListItemFactory` for a `GtkListView` or `GtkGridView` whose cells each have a picture, and loads
    /// their images at the right time.
    ///
    /// ```swift
    /// let factory = WebPicture.makeListItemFactory { picture, position, listItem in
    ///     picture.setImage(urls[position], thumbnail: Thumbnail(.pixels(width: 200, height: 150)))
    /// }
    /// let grid = gtk_grid_view_new(selection, factory)
    /// ```
    ///
    /// | list | load |
    /// |---|---|
    /// | bind | starts with low priority, because GTK binds many more cells than are visible |
    /// | map | gets its own priority |
    /// | unmap | gets a low priority again |
    /// | unbind | is cancelled, and the image is released |
    ///
    /// A list view takes ownership of the factory, so pass it to one list view only.
    ///
    /// - Parameters:
    ///   - makeCell: returns the widget of a cell with a new picture; by default the picture's widget. Set the size
    ///     request, content mode, indicator and transition here.
    ///   - unbind: called before the picture of a cell is reset, with the position of the item.
    ///   - bind: sets the image of an item. It gets the item's position and the `GtkListItem`, whose
    ///     `gtk_list_item_get_item` is the model's object.
    public static func makeListItemFactory(
        makeCell: @escaping @MainActor (WebPicture) -> UnsafeMutablePointer<GtkWidget> = { $0.widget },
        unbind: @escaping @MainActor (_ picture: WebPicture, _ position: Int, _ listItem: OpaquePointer) -> Void = {
            _, _, _ in
        },
        bind: @escaping @MainActor (_ picture: WebPicture, _ position: Int, _ listItem: OpaquePointer) -> Void
    ) -> OpaquePointer {
        let pointer = ObjectPointer(gtk_signal_list_item_factory_new())
        func position(of listItem: ObjectPointer) -> Int { Int(gtk_list_item_get_position(listItem.opaque)) }
        pointer.onSignal("setup") { (listItem: ObjectPointer) in
            let picture = WebPicture()
            (picture.loading, picture.loadsOffscreen) = (.eager, true)
            gtk_list_item_set_child(listItem.opaque, makeCell(picture))
            cellKey.set(picture, on: listItem)
            listItem.onChange(of: "selected") { [weak picture] in
                picture?.isHighlighted = gtk_list_item_get_selected(listItem.opaque) != 0
            }
        }
        pointer.onSignal("bind") { (listItem: ObjectPointer) in
            guard let picture = cellKey.value(of: listItem) else { return }
            picture.isHighlighted = gtk_list_item_get_selected(listItem.opaque) != 0
            bind(picture, position(of: listItem), listItem.opaque)
        }
        pointer.onSignal("unbind") { (listItem: ObjectPointer) in
            guard let picture = cellKey.value(of: listItem) else { return }
            unbind(picture, position(of: listItem), listItem.opaque)
            picture.prepareForReuse()
        }
        pointer.onSignal("teardown") { (listItem: ObjectPointer) in
            gtk_list_item_set_child(listItem.opaque, nil)
            cellKey.set(nil, on: listItem)
        }
        return pointer.opaque
    }

    /// The picture of a `GtkListItem`.
    private static let cellKey = AssociationKey<WebPicture>("web-image-cell")
}
