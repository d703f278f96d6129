extension WebImageError {
    /// A number for logs and scripts, stable across releases: 1xx request, 2xx loading, 3xx coding, 4xx caching.
    public var code: Int {
        switch self {
        case .invalidURL: 100
        case .unsupportedScheme: 101
        case .cancelled: 102
        case .invalidHeader: 103
        case .invalidDataURL: 104
        case .unsupportedMethod: 105
        case .httpStatus: 200
        case .transport: 201
        case .timedOut: 202
        case .tooManyRedirects: 203
        case .truncated: 204
        case .emptyBody: 205
        case .responseTooLarge: 206
        case .file: 207
        case .certificate: 208
        case .redirectDenied: 209
        case .blocked: 210
        case .headersTooLarge: 211
        case .offline: 212
        case .tooManyInformationalResponses: 213
        case .requestRefused: 220
        case .responseRefused: 221
        case .unacceptableContentType: 222
        case .unsupportedContentCoding: 223
        case .decryptionFailed: 224
        case .temporaryFile: 225
        case .noThread: 226
        case .invalidProxy: 227
        case .dataProvider: 240
        case .unrecognizedFormat: 300
        case .decoding: 301
        case .encoding: 302
        case .imageTooLarge: 303
        case .invalidSize: 304
        case .outOfMemory: 305
        case .tooManyFrames: 306
        case .animationTooLarge: 307
        case .tooManyScans: 308
        case .decodingTimedOut: 309
        case .metadataTooLarge: 310
        case .invalidAnimation: 311
        case .decodingMemoryExceeded: 312
        case .processing: 320
        case .invalidPlaceholderHash: 321
        case .drawing: 322
        case .notInCache: 400
        case .diskCache: 401
        case .archiving: 402
        case .damagedCacheEntry: 403
        }
    }
}
