import Vapor
import WebImage
import WebImageService

var configuration = ImageService.Configuration()
configuration.pathPrefix = "/images"
configuration.folder = URL(filePath: "photos", directoryHint: .isDirectory)
configuration.disk = DiskCache()
let service = try ImageService(configuration)
let app = try await Application.make(.detect())
app.middleware.use(ImageServiceMiddleware(service))
app.on(.POST, "photos", body: .stream) { request in try await request.storeUpload(in: service) }
try await app.execute()
await service.stop()
try await app.asyncShutdown()
