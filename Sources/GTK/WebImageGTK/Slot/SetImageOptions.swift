public import WebImage

/// How a view shows an image. All options are off by default.
///
/// ```swift
/// picture.setImage(url, options: [.fadeIn, .delayPlaceholder])
/// ```
///
/// ``ignorePlaceholder`` takes precedence over ``delayPlaceholder``. ``avoidSettingImage`` leaves nothing for
/// ``fadeIn``, ``forceTransition`` and ``waitTransition`` to do.
public struct SetImageOptions: OptionSet, Sendable, Hashable {
    /// The bits.
    public let rawValue: UInt64

    /// Makes options from bits.
    public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// Fades in images from disk or network. Images from memory appear at once.
    public static let fadeIn = SetImageOptions(rawValue: 1 << 0)
    /// Applies the transition to images from memory too.
    public static let forceTransition = SetImageOptions(rawValue: 1 << 1)
    /// Keeps the content on display until the new image has loaded.
    public static let ignorePlaceholder = SetImageOptions(rawValue: 1 << 2)
    /// Shows the placeholder only when the load has failed.
    public static let delayPlaceholder = SetImageOptions(rawValue: 1 << 3)
    /// Leaves display to the completion handler.
    public static let avoidSettingImage = SetImageOptions(rawValue: 1 << 4)
    /// Leaves the view's previous load running. Its completion handler gets the result. The view shows the image of the
    /// last URL.
    public static let avoidAutoCancel = SetImageOptions(rawValue: 1 << 5)
    /// Calls the completion handler when the transition to the image has ended or was interrupted.
    public static let waitTransition = SetImageOptions(rawValue: 1 << 6)

    /// Whether the placeholder is shown only after a failure. With ``ignorePlaceholder`` no placeholder is shown at
    /// all.
    var delaysPlaceholder: Bool { contains(.delayPlaceholder) && !contains(.ignorePlaceholder) }
}

/// The state of a view's image.
///
/// ```swift
/// picture.onLoadStateChange = { state in
///     switch state {
///     case .idle: print("no image")
///     case .loading: print(state.fraction ?? 0)
///     case .loaded(let origin): print(origin)
///     case .failed(let error): print(error)
///     }
/// }
/// ```
public enum LoadState: Sendable, Equatable {
    /// No URL, cancelled, or paused off screen.
    case idle
    /// In progress, with the bytes received and expected. `expected` is `nil` while the length is unknown.
    case loading(received: Int64, expected: Int64?)
    /// The image is on display, from this origin.
    case loaded(ImageOrigin)
    /// The load has failed; see ``ImageSlotOwner/retry()``.
    case failed(WebImageError)

    /// The progress from 0 to 1: 1 when loaded, `nil` while the length is unknown or no load is in progress.
    public var fraction: Double? {
        switch self {
        case .loading(let received, let expected?) where expected > 0:
            min(1, max(0, Double(received) / Double(expected)))
        case .loaded: 1
        case .idle, .loading, .failed: nil
        }
    }
}
