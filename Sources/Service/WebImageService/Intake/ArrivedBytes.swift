internal import FoundationEssentials
internal import WebImageCore

/// The bytes of an upload that have arrived. They count in the budget of all uploads until the last copy is released.
struct ArrivedBytes: Sendable {
    private(set) var data = Data()
    private let budget: ByteBudget
    private let share: ByteBudget.Share

    init(_ budget: ByteBudget) { (self.budget, share) = (budget, budget.hold(0)) }

    /// Adds a piece.
    ///
    /// - Throws: ``Refusal/overloaded`` if it does not fit in the budget.
    mutating func append(_ piece: Data) throws(UploadRejection) {
        guard let more = budget.holdIfPossible(piece.count) else { throw UploadRejection(.overloaded) }
        data.append(piece)
        // One share for all pieces.
        share.absorb(more)
    }
}
