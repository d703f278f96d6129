extension WebImageError {
    /// A number for logs and scripts, stable across releases: 1xx request, 2xx loading, 3xx coding, 4xx caching.
    public var code: Int {
        switch self {
        case .invalidURL(_, nil): 100
        case .invalidURL: 104
        case .cancelled: 102
        case .invalidRequest(.unsupportedScheme, _): 101
        case .invalidRequest(.invalidHeader, _): 103
        case .invalidRequest(.unsupportedMethod, _): 105
        case .invalidRequest(.invalidProxy, _): 227
        case .blocked(.hook, _): 220
        case .blocked(.redirect, _), .blocked(.insecureRedirect, _): 209
        case .blocked: 210
        case .httpStatus: 200
        case .transport: 201
        case .timedOut(.offline, _, _): 212
        case .timedOut: 202
        case .certificate: 208
        case .invalidResponse(let reason, _): reason.code
        case .file: 207
        case .outOfResources(.temporaryFile, _): 225
        case .outOfResources(.thread, _): 226
        case .outOfResources(.memory, _): 305
        case .unrecognizedFormat: 300
        case .decoding(_, .page, _): 313
        case .decoding: 301
        case .encoding: 302
        case .limitExceeded(let reason, _): reason.code
        case .invalidFrames: 311
        case .isolation(_, .unavailable, _), .isolation(_, .startTimedOut, _), .isolation(_, .missingLayers, _): 331
        case .isolation: 330
        case .processing("drawing", _, _): 322
        case .processing: 320
        case .notInCache: 400
        case .diskCache(_, .archiving): 402
        case .diskCache(_, .unarchiving): 403
        case .diskCache: 401
        case .custom: 240
        }
    }
}

extension WebImageError.ResponseFailure {
    fileprivate var code: Int {
        switch self {
        case .tooManyRedirects: 203
        case .truncated: 204
        case .emptyBody: 205
        case .bodyTooLong: 206
        case .headersTooLong: 211
        case .tooManyInformationalResponses: 213
        case .refused: 221
        case .contentType: 222
        case .contentCoding: 223
        case .decryption: 224
        }
    }
}

extension WebImageError.LimitFailure {
    fileprivate var code: Int {
        switch self {
        case .pixels: 303
        case .side: 304
        case .frames: 306
        case .animation: 307
        case .scans: 308
        case .processorTime: 309
        case .metadata: 310
        case .memory: 312
        }
    }
}
