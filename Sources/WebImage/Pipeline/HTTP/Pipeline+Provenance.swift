import WebImageCaching
import WebImageCore
import WebImageLoading

/// Where pictures came from: what is said of an answer is said where its bytes are kept, and where pictures of it are.
///
/// ```
///  originals.provenances ─┐
///                         ├─► ResponseRecord ◄── pictures in memory
///  cache.provenances ─────┘                      one cache is both, mostly
/// ```
extension Pipeline {
    /// The record of what the disk has; see ``ProvenanceTable/record(of:source:)``.
    func record(of stored: StoredResponse?, source: String) -> ResponseRecord {
        let record = originals.provenances.record(of: stored, source: source)
        if originals !== cache { cache.provenances.include(record, source: source) }
        return record
    }

    /// Notes what a loader has just brought; see ``ProvenanceTable/adopt(_:source:requestHeaders:)``.
    func adopt(_ new: ResponseRecord, source: String, requestHeaders: [HTTPField]) {
        originals.provenances.adopt(new, source: source, requestHeaders: requestHeaders)
        if originals !== cache { cache.provenances.adopt(new, source: source, requestHeaders: requestHeaders) }
    }

    /// Says that nothing that is in memory of `source` is good any more.
    func supersedeAll(of source: String) {
        originals.provenances.supersedeAll(of: source)
        if originals !== cache { cache.provenances.supersedeAll(of: source) }
    }

    /// What a picture refers to that is made of one in memory. Of that a program may have stored, nothing is known; what is made
    /// of it has to go out of date with it all the same.
    func provenance(ofWhatIsMadeOf image: Image, _ context: LoadContext) -> any ImageProvenance {
        image.provenance ?? record(of: nil, source: context.key.source)
    }

    /// Whether the request's policy lets a picture answer that is in memory.
    func mayAnswer(_ image: Image, _ context: LoadContext) -> Bool {
        // The usual case needs no look at header fields, and is to take no longer than the look-up itself.
        if context.takesAnyAge, image.provenance?.mayDependOnRequest != true { return true }
        let record = image.provenance as? ResponseRecord
        if context.request.cachePolicy == .http, context.request.headers.isEmpty,
            record?.isPlainlyFresh(at: now()) == true
        {
            return true
        }
        if case .serve = decision(on: record, context) { return true }
        return false
    }

    /// Whether a picture in memory is what the server would give this request, as far as Vary tells.
    func isForRequest(_ image: Image, _ context: LoadContext) -> Bool {
        guard image.provenance?.mayDependOnRequest == true else { return true }
        return rules(for: context).isForRequest((image.provenance as? ResponseRecord)?.response)
    }

    /// What the request's policy makes of what is in memory.
    func decision(on record: ResponseRecord?, _ context: LoadContext) -> HTTPCachePolicy.Decision {
        let rules = rules(for: context, comparesHeaders: record?.mayDependOnRequest == true)
        return rules.decide([record?.response], now: now())
    }
}
