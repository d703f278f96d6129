extension Duration {
    /// The duration in seconds, as exactly as a `Double` can represent it.
    package var inExactSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
