import Foundation

// A program with a Swift of its own, which loads libwebimage-gtk. The arguments are the library and the URI of an image.

typealias MakeRequest = @convention(c) (UnsafePointer<CChar>) -> OpaquePointer
typealias DefaultSession = @convention(c) () -> OpaquePointer
typealias LoadImage = @convention(c) (OpaquePointer, OpaquePointer, OpaquePointer?, OpaquePointer?) -> OpaquePointer?

func function<Function>(_ name: String, in library: UnsafeMutableRawPointer) -> Function {
    guard let symbol = dlsym(library, name) else { fatalError("\(name) is missing") }
    return unsafeBitCast(symbol, to: Function.self)
}

guard let library = dlopen(CommandLine.arguments[1], RTLD_NOW | RTLD_GLOBAL) else {
    fatalError(String(cString: dlerror()))
}
let makeRequest: MakeRequest = function("web_image_request_new", in: library)
let defaultSession: DefaultSession = function("web_image_session_get_default", in: library)
let loadImage: LoadImage = function("web_image_session_load", in: library)
let texture = loadImage(defaultSession(), makeRequest(CommandLine.arguments[2]), nil, nil)
let numbers = try JSONDecoder().decode([Int].self, from: Data("[1, 2]".utf8))
let sum = await Task.detached { numbers.reduce(0, +) }.value
exit(texture != nil && sum == 3 ? 0 : 1)
