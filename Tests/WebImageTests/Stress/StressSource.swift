import FoundationEssentials
import WebImage

/// Where the images of a stress test come from, by number.
protocol StressSource: Sendable {
    var loader: any ImageLoader { get }

    func url(_ number: Int) throws -> URL

    /// Whether nothing ever goes wrong with it.
    func isSound(_ number: Int) -> Bool
    /// Whether its server forbids to store it.
    func isForbidden(_ number: Int) -> Bool
    /// Whether its transfers may end early without a notice to the client.
    func mayBeCutUnnoticed(_ number: Int) -> Bool
    /// Whether its transfers never end unless they are cancelled.
    func neverEnds(_ number: Int) -> Bool

    /// Puts the next edition in place of the last, where there are several.
    func publish(_ number: Int)
    /// Whether that edition was sent, whole or in part.
    func hasSent(_ number: Int, edition: Int) -> Bool
    /// Whether these are the bytes of that image, in that edition or any that was sent.
    func hasSent(_ data: Data, as number: Int, edition: Int?) -> Bool

    /// The images whose transfers stand still.
    var stalledNumbers: Set<Int> { get }
    /// Lets transfers stand still from now on, or not; then those that do go on, if they ever can.
    func setMayStall(_ mayStall: Bool)

    /// Waits until none of its threads has anything to do.
    func settle() async throws
    var runningCount: Int { get }
}
