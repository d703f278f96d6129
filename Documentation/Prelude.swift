// What code blocks of the README and the guides use without declaring it. `Scripts/snippets` compiles them with this file.

import CGTK
import Foundation
import WebImageDrawing
import WebImageGTK
import WebImageMap
import WebImageService

/// A value of the type that the context needs. No block runs, so there is none.
func sample<Value>() -> Value { fatalError() }

let url: URL = sample()
let otherURL: URL = sample()
let urls: [URL] = sample()
let data: Data = sample()
let folder: URL = sample()
/// A URL of the same image on another server.
let mirror: URL = sample()
/// Returns the token of a service; a new one if the last was refused.
@Sendable func accessToken(isRenewed: Bool) async throws -> String { sample() }
let manager: WebImageManager = sample()
let cache: ImageCache = sample()
let photo: Image = sample()
let logo: Image = sample()
@MainActor let picture: WebPicture = sample()
@MainActor let button: WebButton = sample()
@MainActor let application: UnsafeMutablePointer<GtkApplication> = sample()
@MainActor let window: UnsafeMutablePointer<GtkWindow> = sample()

func show(_ image: Image) {}
func show(_ pixels: PixelBuffer) {}

// For doc comments.

let image: Image = sample()
let original: Image = sample()
let number: Int = sample()
let compressed: Image = sample()
let copy: Image = sample()
let decoded: Data = sample()
let firstBytes: Data = sample()
let otherBytes: Data = sample()
let decoder: any ImageDecoder = sample()
let encoder: any ImageEncoder = sample()
let service: ImageService = sample()
let pieces: AsyncThrowingStream<Data, any Error> = sample()
let play: URL = sample()
let playPressed: URL = sample()
let plate: URL = sample()
@MainActor let box: UnsafeMutablePointer<GtkBox> = sample()
@MainActor let list: OpaquePointer = sample()
@MainActor let selection: OpaquePointer = sample()
@MainActor let snapshot: OpaquePointer = sample()
@MainActor let markers: OpaquePointer = sample()
@MainActor let widget: UnsafeMutablePointer<GtkWidget> = sample()
@MainActor let row: UnsafeMutablePointer<GtkWidget> = sample()
