import CWebImageGTK
import Dispatch
import XCTest

@testable import WebImageGTK

/// Loads that go on in the background, and the application around them.
final class ApplicationHoldTests: GTKTestCase {
    func testALoadStartedOnAnotherThreadHoldsTheApplication() throws {
        try MainActor.assumeIsolated {
            let fixture = PictureFixture()
            let request = WebImageRequest(try fixture.url("red"), options: .continueInBackground)
            runApplication { application in
                // As long as it takes to begin.
                g_application_hold(application.address.assumingMemoryBound(to: GApplication.self))
                DispatchQueue.global().async {
                    fixture.manager.load(request) { _ in }
                    ApplyQueue.main.enqueue {
                        MainActor.assumeIsolated {
                            let load = fixture.loader.lastLoad(of: request.url)
                            Later.shared.call = MainLoopCall.after(milliseconds: 50) { load?.answer(.red) }
                            g_application_get_default().map { g_application_release($0) }
                        }
                    }
                }
            }
            XCTAssertNotNil(fixture.manager.cachedImage(for: request), "the application waited for it")
        }
    }

    func testAHookOfTheProgramsTakesThePlaceOfTheHold() throws {
        try MainActor.assumeIsolated {
            let (begun, ended) = (Lock(0), Lock(0))
            let fixture = PictureFixture { configuration in
                configuration.hooks.beginBackgroundTask = { _ in
                    begun.withLock { $0 += 1 }
                    return { ended.withLock { $0 += 1 } }
                }
            }
            let url = try fixture.url("red")
            runApplication { _ in
                let picture = WebPicture()
                picture.setImage(url, options: .continueInBackground, manager: fixture.manager)
                destroyUnparented(picture)
                // Should anything hold the application all the same.
                Later.shared.call = MainLoopCall.after(milliseconds: 5000) { fixture.manager.cancelAll() }
            }
            XCTAssertEqual(begun.withLock { $0 }, 1)
            XCTAssertEqual(ended.withLock { $0 }, 0, "the application ended before the load")
            fixture.manager.cancelAll()
            pump("the end") { ended.withLock { $0 } == 1 }
        }
    }
}

/// Runs an application without a window until nothing holds it.
@MainActor private func runApplication(_ activate: @escaping @MainActor (ObjectPointer) -> Void) {
    let application = ObjectReference(
        owning: ObjectPointer(gtk_application_new(nil, G_APPLICATION_NON_UNIQUE)))
    let pointer = application.pointer.address.assumingMemoryBound(to: GApplication.self)
    g_application_set_default(pointer)
    defer {
        g_application_set_default(nil)
        Later.shared.call = nil
    }
    application.pointer.onSignal("activate") { activate(application.pointer) }
    XCTAssertEqual(g_application_run(pointer, 0, nil), 0)
}

@MainActor private final class Later {
    static let shared = Later()
    var call: MainLoopCall?
}
