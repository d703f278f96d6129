// Tests with Swift Testing have this module. Without it, the rest of the product serves other tests.
#if canImport(Testing)
    public import Testing
    public import WebImage

    /// Images can be attached to tests with Swift Testing, so that a report shows what a test saw.
    ///
    /// ```swift
    /// import Testing
    /// import WebImageTesting
    ///
    /// Attachment.record(image, named: "tile")
    /// ```
    ///
    /// Stills are attached as PNG files, animations as they were loaded or as GIF files. `swift test --attachments-path FOLDER` writes
    /// them into a folder.
    extension Image: Attachable {
        /// Calls `body` with the image as a file.
        ///
        /// - Throws: the error of an image that cannot be encoded.
        public func withUnsafeBytes<Result>(
            for attachment: borrowing Attachment<Image>, _ body: (UnsafeRawBufferPointer) throws -> Result
        ) throws -> Result {
            try testFile().withUnsafeBytes(body)
        }

        /// Returns the name with the extension of the file.
        public borrowing func preferredName(
            for attachment: borrowing Attachment<Image>, basedOn suggestedName: String
        ) -> String {
            let ending = ".\(testFormat.fileExtension)"
            return suggestedName.hasSuffix(ending) ? suggestedName : suggestedName + ending
        }
    }
#endif
