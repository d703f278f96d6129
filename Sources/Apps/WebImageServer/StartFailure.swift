/// Why the program does not start.
struct StartFailure: Error, CustomStringConvertible {
    let description: String
    /// The status of the program: 2 for invalid settings.
    var status: Int32 = 2
}
