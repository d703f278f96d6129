extension Duration {
    /// In seconds, as exactly as a `Double` has it.
    package var inExactSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
