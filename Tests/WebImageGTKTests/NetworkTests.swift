import CWebImageGTK
import GTKObjects
import XCTest

@testable import GTKTestSupport
@testable import WebImage
@testable import WebImageGTK

/// Low-data mode on networks that the desktop calls metered.
final class NetworkTests: GTKTestCase {
    func testManagersFollowTheDesktopsMonitor() throws {
        MainActor.assumeIsolated {
            let (monitor, network) = (FakeMonitor(isMetered: true), MeteredNetwork())
            let fixture = PictureFixture { $0.network = network }
            var observer: NetworkObserver? = NetworkObserver(of: monitor.pointer, for: network)
            XCTAssertTrue(fixture.manager.isLowDataModeEnabled)
            monitor.isMetered = false
            XCTAssertFalse(fixture.manager.isLowDataModeEnabled)
            monitor.isMetered = true
            XCTAssertTrue(fixture.manager.isLowDataModeEnabled)
            observer = nil
            monitor.isMetered = false
            XCTAssertTrue(fixture.manager.isLowDataModeEnabled, "the observer is gone")
            XCTAssertNil(observer)
        }
    }

    func testTheProgramsMonitorIsObserved() {
        MainActor.assumeIsolated {
            MainLoop.install()
            pump("the monitor") { NetworkObserver.isInstalled }
        }
    }

    func testAViewLoadsTheFullImageWhenItsURLIsSetAfterwards() throws {
        try MainActor.assumeIsolated {
            let (fixture, picture) = (PictureFixture(), WebPicture())
            fixture.manager.isLowDataModeEnabled = true
            var request = WebImageRequest(try fixture.url("large"))
            request.lowDataURL = try fixture.url("small")
            picture.setImage(request, manager: fixture.manager)
            pump("the load") { fixture.loader.loads.count == 1 }
            XCTAssertEqual(fixture.loader.loads.last?.url, request.lowDataURL)
            fixture.loader.loads.last?.answer(.green)
            pump("the small image") { picture.loadState == .loaded(.remote) }
            fixture.manager.isLowDataModeEnabled = false
            picture.setImage(request, manager: fixture.manager)
            XCTAssertEqual(drawnPixel(of: picture), Swatch.green.pixel, "it stays meanwhile")
            pump("the other load") { fixture.loader.loads.count == 2 }
            XCTAssertEqual(fixture.loader.loads.last?.url, request.url)
            fixture.loader.loads.last?.answer(.red)
            pump("the large image") { picture.loadState == .loaded(.remote) && picture.image != nil }
            XCTAssertEqual(drawnPixel(of: picture), Swatch.red.pixel)
            picture.setImage(request, manager: fixture.manager)
            XCTAssertEqual(fixture.loader.loads.count, 2, "the image on display answers")
            destroyUnparented(picture)
        }
    }
}

/// A GObject with the property of a `GNetworkMonitor`.
@MainActor private final class FakeMonitor {
    private let reference: ObjectReference

    init(isMetered: Bool) {
        reference = ObjectReference(owning: ObjectPointer(g_object_new_with_properties(Self.type, 0, nil, nil)))
        self.isMetered = isMetered
        note()
    }

    var pointer: ObjectPointer { reference.pointer }

    var isMetered: Bool {
        didSet { note() }
    }

    private func note() {
        g_object_set_qdata(pointer.object, Self.key, isMetered ? pointer.address : nil)
        g_object_notify(pointer.object, "network-metered")
    }

    private nonisolated static let key = g_quark_from_string("fake-monitor-is-metered")

    private static let type: GType = g_type_register_static_simple(
        g_object_get_type(), "WebImageFakeMonitor", guint(MemoryLayout<GObjectClass>.size),
        { pointer, _ in
            guard let objectClass = pointer?.assumingMemoryBound(to: GObjectClass.self) else { return }
            objectClass.pointee.get_property = { object, _, value, _ in
                g_value_set_boolean(value, g_object_get_qdata(object, FakeMonitor.key) == nil ? 0 : 1)
            }
            g_object_class_install_property(
                objectClass, 1, g_param_spec_boolean("network-metered", nil, nil, 0, G_PARAM_READABLE))
        }, guint(MemoryLayout<GObject>.size), nil, GTypeFlags(rawValue: 0))
}
