/// The words that `--explain` and traces use.
extension HTTPCachePolicy.Reason: CustomStringConvertible {
    package var description: String {
        switch self {
        case .fresh(let age, let lifetime, let source):
            "fresh: \(whole(age)) s old, good for \(whole(lifetime)) s (\(source.rawValue))"
        case .stale(_, _, .none): "stale: the server does not say how long it is good"
        case .stale(let age, let lifetime, let source):
            "stale: \(whole(age)) s old, was good for \(whole(lifetime)) s (\(source.rawValue))"
        case .staleAllowed(let seconds, let rule): "stale for \(whole(seconds)) s, which \(rule) allows"
        case .nothingStored: "nothing is stored"
        case .differs("*"): "the stored answer varies by things that can't be compared (Vary: *)"
        case .differs(let field): "the stored answer was for another value of \(field) (Vary)"
        case .methodIsNotCached(let method): "\(method) requests are not answered from a cache"
        case .conditionalRequest: "the request sets conditions of its own, or asks for a part"
        case .requestWantsValidation: "the request wants it confirmed (no-cache)"
        case .requestWantsYounger(let age, let maxAge):
            "\(whole(age)) s old, and the request wants at most \(whole(maxAge)) s (max-age)"
        case .requestWantsFresherFor(let seconds): "not fresh for another \(whole(seconds)) s (min-fresh)"
        case .responseWantsValidation: "the server wants it confirmed each time (no-cache)"
        case .redirectWantsValidation: "a redirect on the way to it wants it confirmed each time"
        case .notReusable: "what is stored may not answer again by the rules of HTTP"
        case .storedIsGoodEnough: "what is stored is good, whatever its age"
        case .policyWantsServer: "the policy asks the server each time"
        case .immutable: "the server has said that it will not change (immutable)"
        case .statusIsNoPicture(let code): "what is stored is an answer with status \(code)"
        case .bodyWasNotKept: "its body was not kept"
        case .invalidated: "something has shown that it may have changed"
        case .clockWentBack: "this machine's clock was set back, so that its age can't be told"
        }
    }

    private func whole(_ seconds: Double) -> Int { Int(seconds.rounded()) }
}

extension HTTPCachePolicy.StorageObstacle: CustomStringConvertible {
    package var description: String {
        switch self {
        case .method(let method): "answers to \(method) are not stored"
        case .requestNoStore: "the request forbids it (no-store)"
        case .responseNoStore: "the server forbids it (no-store)"
        case .status(let code): "answers with status \(code) are not stored"
        case .variesByAnything: "it varies by things that can't be compared (Vary: *)"
        case .noLifetime(let code):
            "the server does not say how long it is good, and for status \(code) that can't be guessed"
        case .conditionalRequest: "the request set conditions of its own, or asked for a part"
        }
    }
}
