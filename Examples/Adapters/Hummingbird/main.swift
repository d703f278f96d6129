import Foundation
import Hummingbird
import WebImage
import WebImageService

var configuration = ImageService.Configuration()
configuration.pathPrefix = "/images"
configuration.folder = URL(filePath: "photos", directoryHint: .isDirectory)
configuration.disk = DiskCache()
let images = ImageServiceMiddleware<BasicRequestContext>(try ImageService(configuration))
let router = Router()
router.add(middleware: images)
router.post("photos") { try await $0.storeUpload(in: images.service, context: $1) }
try await Application(router: router, services: [images]).runService()
