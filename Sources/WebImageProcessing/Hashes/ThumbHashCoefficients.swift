/// The numbers in a ``ThumbHash``: an average and waves for luminance, for two differences of colours and for alpha.
struct ThumbHashCoefficients {
    /// Luminance and alpha from 0 to 1, yellow less blue and red less green from -1 to 1.
    struct Average {
        var luminance: Double
        var yellow: Double
        var red: Double
        var alpha: Double
    }

    let average: Average
    let luminance: [Double]
    let yellow: [Double]
    let red: [Double]
    /// Empty for a picture without alpha.
    let alpha: [Double]

    /// - Parameter bytes: as many as `layout` asks for.
    init(_ bytes: [UInt8], layout: ThumbHashLayout) {
        let header = Int(bytes[0]) | Int(bytes[1]) << 8 | Int(bytes[2]) << 16
        let rest = Int(bytes[3]) | Int(bytes[4]) << 8
        average = Average(
            luminance: Double(header & 63) / 63, yellow: Double(header >> 6 & 63) / 31.5 - 1,
            red: Double(header >> 12 & 63) / 31.5 - 1, alpha: layout.hasAlpha ? Double(bytes[5] & 15) / 15 : 1)

        var position = (layout.hasAlpha ? 6 : 5) * 2
        func waves(_ triangle: WaveTriangle, largest: Double) -> [Double] {
            triangle.waves.map { _ in
                let bits = bytes[position / 2] >> (position % 2 * 4) & 15
                position += 1
                return (Double(bits) / 7.5 - 1) * largest
            }
        }
        luminance = waves(layout.luminance, largest: Double(header >> 18 & 31) / 31)
        // Rounding to so few bits takes colour away; the reference gives a quarter back.
        yellow = waves(ThumbHashLayout.color, largest: Double(rest >> 3 & 63) / 63 * 1.25)
        red = waves(ThumbHashLayout.color, largest: Double(rest >> 9 & 63) / 63 * 1.25)
        alpha = layout.hasAlpha ? waves(ThumbHashLayout.alpha, largest: Double(bytes[5] >> 4) / 15) : []
    }
}
