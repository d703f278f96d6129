internal import CWebImageShumate
internal import WebImageGTK

extension WebMarker {
    /// Where it is, in degrees north of the equator; limited to the 85.05° on both sides that maps have.
    public var latitude: Double {
        get { shumate_location_get_latitude(location) }
        set { setLocation(latitude: newValue, longitude: longitude) }
    }

    /// Where it is, in degrees east of Greenwich; limited to −180 and 180.
    public var longitude: Double {
        get { shumate_location_get_longitude(location) }
        set { setLocation(latitude: latitude, longitude: newValue) }
    }

    /// Moves it, in one step. In degrees, limited as ``latitude`` and ``longitude`` say.
    public func setLocation(latitude: Double, longitude: Double) {
        shumate_location_set_location(location, latitude, longitude)
    }

    /// The marker as the interface of what has a place.
    private var location: OpaquePointer { ObjectPointer(marker).opaque }
}
