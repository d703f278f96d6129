import CWebImageGTK
import GTKObjects
import XCTest

@testable import WebImageGTK

/// Runs an application as programs do: registers it, calls `activate`, and returns after its shutdown, when it has no window and nothing
/// holds it.
///
/// An application that is only registered, and not run, is never released: what its start makes retains it. On a session bus it keeps
/// its object path, and no other application without an ID can be registered in this process.
///
/// - Parameter application: a new `GtkApplication` or a subclass, which this function releases; by default one without an ID.
@MainActor func runApplication(
    _ application: ObjectPointer = ObjectPointer(gtk_application_new(nil, G_APPLICATION_NON_UNIQUE)),
    _ activate: @escaping @MainActor (ObjectPointer) throws -> Void
) throws {
    let pointer = application.address.assumingMemoryBound(to: GApplication.self)
    defer { g_object_unref(application.address) }
    var error: UnsafeMutablePointer<GError>?
    guard g_application_register(pointer, nil, &error) != 0 else {
        throw ApplicationFailure(description: error.takeMessage())
    }
    let former = g_application_get_default()
    g_application_set_default(pointer)
    defer { g_application_set_default(former == pointer ? nil : former) }
    let activation = Activation()
    application.onSignal("activate") {
        activation.result = Result { try activate(application) }
    }
    let status = g_application_run(pointer, 0, nil)
    try XCTUnwrap(activation.result, "the application was not activated").get()
    guard status == 0 else { throw ApplicationFailure(description: "the application ended with \(status)") }
}

/// Why an application did not run.
private struct ApplicationFailure: Error, CustomStringConvertible {
    let description: String
}

/// What a call of `activate` threw.
@MainActor private final class Activation {
    var result: Result<Void, any Error>?
}
