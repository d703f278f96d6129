package import FoundationEssentials

/// What a decoder process does instead of one request, in the file that the request is about.
package struct Script: Codable, Sendable {
    /// The name of the request's case, such as `decode`. Other requests have the replies that they should have.
    package var request: String
    package var actions: [Action]

    package init(at request: String, _ actions: [Action]) { (self.request, self.actions) = (request, actions) }

    package enum Action: Codable, Sendable {
        /// The reply that the request should have.
        case reply
        /// A reply, as a message without the number of the request.
        case replyOf(Data)
        /// The same for another number than that of the request.
        case replyOfNumber(Data, offset: Int)
        /// The reply that the request should have, with descriptors: of sealed memory, or of a file that can change.
        case replyWithDescriptors(count: Int, isSealed: Bool)
        /// A packet with these bytes, and so many descriptors.
        case packet(Data, descriptors: Int = 0)
        /// The actions again and again, as long as the program receives.
        case again([Action])
        /// Waits for a message of the program.
        case receive
        /// Adds seals to the memory for files, or for results.
        case seal(isInput: Bool, Int)
        /// Shortens the memory for results.
        case shrink
        /// Changes the memory for results while it is read.
        case rewrite
        case stop
        case closeChannel
        case exit
        case crash
        /// Uses processor time, or waits, and does not look at its channel.
        case work
        case sleep
    }

    /// What precedes a script in a file, after the signature of PNG.
    package static let word = "script:"
}
