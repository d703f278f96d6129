// What code blocks of the README and the guides use without declaring it. `Scripts/snippets` compiles them with this file.

import CGTK
import Foundation
import WebImageDrawing
import WebImageGTK
import WebImageMap

/// A value of the type that the context needs. No block runs, so there is none.
func sample<Value>() -> Value { fatalError() }

let url: URL = sample()
let otherURL: URL = sample()
let urls: [URL] = sample()
let data: Data = sample()
let folder: URL = sample()
/// A URL of the same image on another server.
let mirror: URL = sample()
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
