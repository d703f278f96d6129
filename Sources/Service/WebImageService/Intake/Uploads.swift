internal import FoundationEssentials
internal import WebImageCore

extension ImageService {
    /// Uploads that a service takes over HTTP, stores, and serves.
    ///
    /// ```swift
    /// var configuration = ImageService.Configuration()
    /// configuration.folder = URL(filePath: "/var/lib/images", directoryHint: .isDirectory)
    /// configuration.uploads = ImageService.Uploads(to: "local:///uploads", options: "rs:fit:2048:2048")
    /// let service = try ImageService(configuration)
    /// ```
    public struct Uploads: Sendable {
        /// What the sources of stored files begin with: `local:///FOLDER` in ``Configuration/folder``, or `s3://BUCKET/PREFIX` in
        /// ``Configuration/store``. It has letters, digits, `-`, `_`, `.` and `/` only.
        public var destination: String
        /// What is accepted, and with one result the file that is stored. An upload is stored under the digest of that file, so that equal ones are
        /// stored once.
        public var policy: UploadPolicy
        /// The options of the URL that is answered, as in a path; `raw:1`, which sends the file as it is stored, by default. With
        /// ``Configuration/allowsOnlyPresets``, a name of a preset.
        public var urlOptions: String?

        /// Creates a configuration.
        ///
        /// - Parameters:
        ///   - destination: such as `local:///uploads` or `s3://bucket/uploads`.
        ///   - options: of the file that is stored, as in a path; `raw:1` stores uploads as they come. By default they are at most 4096 pixels a side,
        ///     without metadata.
        public init(to destination: String, options: String = "rs:fit:4096:4096") {
            (self.destination, policy) = (destination, UploadPolicy(results: ["image": options]))
        }
    }
}
