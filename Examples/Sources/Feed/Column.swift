import CGTK

/// A widget that centers its child and makes it at most as wide as the column of posts, as libadwaita's `AdwClamp` does.
@MainActor func makeColumn(around child: UnsafeMutablePointer<GtkWidget>) -> UnsafeMutablePointer<GtkWidget> {
    let column: UnsafeMutablePointer<GtkWidget> = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0)
    let layout = gtk_custom_layout_new(
        { _ in GTK_SIZE_REQUEST_HEIGHT_FOR_WIDTH },
        { column, orientation, size, minimum, natural, _, _ in
            gtk_widget_measure(
                gtk_widget_get_first_child(column), orientation, min(size, columnWidth), minimum, natural, nil, nil)
        },
        { column, width, height, _ in
            let child = gtk_widget_get_first_child(column)
            var position = graphene_point_t(x: Float(max(0, width - columnWidth) / 2), y: 0)
            let transform = gsk_transform_translate(nil, &position)
            gtk_widget_allocate(child, min(width, columnWidth), height, -1, transform)
        })
    gtk_widget_set_layout_manager(column, layout)
    gtk_widget_set_parent(child, column)
    return column
}

private let columnWidth = gint(Post.imageWidth + 2 * PostRow.margin)
