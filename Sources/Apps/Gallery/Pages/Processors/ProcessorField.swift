import WebImageGTK

/// A parameter of a processor that the user can change.
struct ProcessorField: Sendable {
    enum Kind: Sendable {
        /// - Parameter digits: after the decimal point, in the slider as in the code.
        case number(ClosedRange<Double>, digits: Int, unit: String)
        case flag
        case color
        case choice([String])
    }

    let name: String
    let title: String
    let kind: Kind
    let initial: ProcessorValue

    static func number(
        _ name: String, _ title: String, _ range: ClosedRange<Double>, _ initial: Double, digits: Int = 0,
        unit: String = ""
    ) -> ProcessorField {
        ProcessorField(
            name: name, title: title, kind: .number(range, digits: digits, unit: unit), initial: .number(initial))
    }

    static func flag(_ name: String, _ title: String, _ initial: Bool) -> ProcessorField {
        ProcessorField(name: name, title: title, kind: .flag, initial: .flag(initial))
    }

    static func color(_ name: String, _ title: String, _ initial: Color) -> ProcessorField {
        ProcessorField(name: name, title: title, kind: .color, initial: .color(initial))
    }

    /// - Parameter titles: of the choices; the first is the initial one.
    static func choice(_ name: String, _ title: String, _ titles: [String]) -> ProcessorField {
        ProcessorField(name: name, title: title, kind: .choice(titles), initial: .choice(0))
    }
}

/// The value of a parameter.
enum ProcessorValue: Sendable, Hashable {
    case number(Double)
    case flag(Bool)
    case color(Color)
    /// The index of a choice.
    case choice(Int)
}

/// The values of a processor's parameters, by their names.
struct ProcessorValues: Sendable, Hashable {
    private var values: [String: ProcessorValue] = [:]

    init(_ fields: [ProcessorField]) {
        for field in fields { values[field.name] = field.initial }
    }

    subscript(name: String) -> ProcessorValue? {
        get { values[name] }
        set { values[name] = newValue }
    }

    func number(_ name: String) -> Double { if case .number(let value) = values[name] { value } else { 0 } }
    func flag(_ name: String) -> Bool { if case .flag(let value) = values[name] { value } else { false } }
    func choice(_ name: String) -> Int { if case .choice(let value) = values[name] { value } else { 0 } }
    func color(_ name: String) -> Color { if case .color(let value) = values[name] { value } else { .black } }
    func whole(_ name: String) -> Int { Int(number(name).rounded()) }
}

/// Swift text.
enum SwiftCode {
    /// Returns a literal whose value is exactly `number`.
    static func number(_ number: Double) -> String {
        number == number.rounded() && abs(number) < 1e9 ? "\(Int(number))" : "\(number)"
    }

    static func color(_ color: Color) -> String {
        switch color {
        case .white: return ".white"
        case .black: return ".black"
        case .clear: return ".clear"
        default: break
        }
        let parts = [("red", color.red), ("green", color.green), ("blue", color.blue)].map { "\($0): \(number($1))" }
        let alpha = color.alpha == 1 ? [] : ["alpha: \(number(color.alpha))"]
        return "Color(\((parts + alpha).joined(separator: ", ")))"
    }

    /// Returns a call, such as `.rotate(degrees: 45)`, without the arguments that are `nil`.
    static func call(_ name: String, _ arguments: String?...) -> String {
        ".\(name)(\(arguments.compactMap { $0 }.joined(separator: ", ")))"
    }
}
