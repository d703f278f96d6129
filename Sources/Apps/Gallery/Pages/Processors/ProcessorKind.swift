import WebImageGTK

/// A processor that can be added to the chain: its parameters, and both the processor and its code for their values.
struct ProcessorKind: Sendable {
    let name: String
    let title: String
    let fields: [ProcessorField]
    /// The other image that it needs.
    var operand: ProcessorOperand?
    let make: @Sendable (ProcessorValues, ProcessorOperands) -> ImageProcessor
    let code: @Sendable (ProcessorValues) -> String

    static func named(_ name: String) -> ProcessorKind? { all.first { $0.name == name } }

    static let all: [ProcessorKind] = geometry + colors + effects + otherImages
}

// MARK: - Kinds

extension ProcessorKind {
    private static let geometry: [ProcessorKind] = [
        ProcessorKind(
            name: "resize", title: "Resize",
            fields: [
                .choice("mode", "Mode", ["Fit", "Fill and crop", "Fill", "Stretch", "Letterbox"]),
                .number("width", "Width", 16...720, 480, unit: "pixels"),
                .number("height", "Height", 16...720, 320, unit: "pixels"),
                .color("color", "Color of the letterbox", .black),
            ],
            make: { values, _ in
                let size = TargetSize.pixels(width: values.whole("width"), height: values.whole("height"))
                return switch values.choice("mode") {
                case 1: .resize(toFill: size)
                case 2: .resize(to: size, mode: .aspectFill)
                case 3: .resize(to: size, mode: .stretch)
                case 4: .letterbox(to: size, color: values.color("color"))
                default: .resize(to: size)
                }
            },
            code: { values in
                let size = ".pixels(width: \(values.whole("width")), height: \(values.whole("height")))"
                return switch values.choice("mode") {
                case 1: SwiftCode.call("resize", "toFill: \(size)")
                case 2: SwiftCode.call("resize", "to: \(size)", "mode: .aspectFill")
                case 3: SwiftCode.call("resize", "to: \(size)", "mode: .stretch")
                case 4: SwiftCode.call("letterbox", "to: \(size)", "color: \(SwiftCode.color(values.color("color")))")
                default: SwiftCode.call("resize", "to: \(size)")
                }
            }),
        ProcessorKind(
            name: "crop", title: "Crop",
            fields: [
                .number("x", "Left", 0...700, 120, unit: "pixels"), .number("y", "Top", 0...700, 60, unit: "pixels"),
                .number("width", "Width", 1...720, 360, unit: "pixels"),
                .number("height", "Height", 1...720, 280, unit: "pixels"),
            ],
            make: { values, _ in
                .crop(
                    toPixels: PixelRect(
                        x: values.whole("x"), y: values.whole("y"), width: values.whole("width"),
                        height: values.whole("height")))
            },
            code: { values in
                let sides = ["x", "y", "width", "height"].map { "\($0): \(values.whole($0))" }
                return SwiftCode.call("crop", "toPixels: PixelRect(\(sides.joined(separator: ", ")))")
            }),
        ProcessorKind(
            name: "inset", title: "Inset",
            fields: [
                .number("distance", "Distance", -80...80, -24, unit: "points"),
                .color("color", "Color outside", .white),
            ],
            make: { values, _ in .inset(values.number("distance"), color: values.color("color")) },
            code: { values in
                SwiftCode.call(
                    "inset", SwiftCode.number(values.number("distance")),
                    "color: \(SwiftCode.color(values.color("color")))")
            }),
        ProcessorKind(
            name: "corners", title: "Rounded corners",
            fields: [.number("radius", "Radius", 0...200, 40, unit: "points")] + borderFields,
            make: { values, _ in .roundedCorners(radius: values.number("radius"), border: border(values)) },
            code: { values in
                SwiftCode.call(
                    "roundedCorners", "radius: \(SwiftCode.number(values.number("radius")))", borderCode(values))
            }),
        ProcessorKind(
            name: "circle", title: "Circle", fields: borderFields,
            make: { values, _ in .circle(border: border(values)) },
            code: { values in SwiftCode.call("circle", borderCode(values)) }),
        ProcessorKind(
            name: "rotate", title: "Rotate",
            fields: [
                .number("degrees", "Angle", -180...180, 12, unit: "degrees"),
                .flag("keepsSize", "Keep the size", false),
            ],
            make: { values, _ in .rotate(degrees: values.number("degrees"), keepsSize: values.flag("keepsSize")) },
            code: { values in
                SwiftCode.call(
                    "rotate", "degrees: \(SwiftCode.number(values.number("degrees")))",
                    values.flag("keepsSize") ? "keepsSize: true" : nil)
            }),
        ProcessorKind(
            name: "flip", title: "Flip",
            fields: [.flag("horizontally", "Horizontally", true), .flag("vertically", "Vertically", false)],
            make: { values, _ in
                .flip(horizontally: values.flag("horizontally"), vertically: values.flag("vertically"))
            },
            code: { values in
                let sides = ["horizontally", "vertically"].filter { values.flag($0) }.map { "\($0): true" }
                return ".flip(\(sides.joined(separator: ", ")))"
            }),
    ]

    private static let colors: [ProcessorKind] = [
        ProcessorKind(
            name: "color", title: "Saturation, brightness, contrast",
            fields: [
                .number("saturation", "Saturation", 0...3, 1.4, digits: 2),
                .number("brightness", "Brightness", -0.5...0.5, 0, digits: 2),
                .number("contrast", "Contrast", 0...2, 1.1, digits: 2),
            ],
            make: { values, _ in
                .color(
                    saturation: values.number("saturation"), brightness: values.number("brightness"),
                    contrast: values.number("contrast"))
            },
            code: { values in
                let parts = ["saturation", "brightness", "contrast"].map {
                    "\($0): \(SwiftCode.number(values.number($0)))"
                }
                return ".color(\(parts.joined(separator: ", ")))"
            }),
        ProcessorKind(
            name: "grayscale", title: "Grayscale", fields: [], make: { _, _ in .grayscale() },
            code: { _ in ".grayscale()" }),
        ProcessorKind(
            name: "inverted", title: "Inverted colors", fields: [], make: { _, _ in .inverted() },
            code: { _ in ".inverted()" }),
        ProcessorKind(
            name: "sepia", title: "Sepia", fields: [.number("amount", "Amount", 0...1, 0.8, digits: 2)],
            make: { values, _ in .sepia(values.number("amount")) },
            code: { values in SwiftCode.call("sepia", SwiftCode.number(values.number("amount"))) }),
        ProcessorKind(
            name: "tint", title: "Tint",
            fields: [
                .color("color", "Color", Color(red: 0.9, green: 0.4, blue: 0.1)),
                .choice("mode", "Blend mode", tintModes.map(\.title)),
            ],
            make: { values, _ in .tint(values.color("color"), mode: tintModes[values.choice("mode")].mode) },
            code: { values in
                SwiftCode.call(
                    "tint", SwiftCode.color(values.color("color")), "mode: .\(tintModes[values.choice("mode")].mode)")
            }),
    ]

    private static let effects: [ProcessorKind] = [
        ProcessorKind(
            name: "blur", title: "Blur", fields: [.number("radius", "Radius", 0...60, 12, unit: "points")],
            make: { values, _ in .blur(radius: values.number("radius")) },
            code: { values in SwiftCode.call("blur", "radius: \(SwiftCode.number(values.number("radius")))") }),
        ProcessorKind(
            name: "glass", title: "Frosted glass",
            fields: [
                .choice("effect", "Effect", ["Light", "Extra light", "Soft", "Dark", "Tinted"]),
                .color("color", "Color of the tint", Color(red: 0.1, green: 0.4, blue: 0.9)),
            ],
            make: { values, _ in
                switch values.choice("effect") {
                case 1: .blur(.extraLight)
                case 2: .blur(.soft)
                case 3: .blur(.dark)
                case 4: .blur(.tinted(values.color("color")))
                default: .blur(.light)
                }
            },
            code: { values in
                switch values.choice("effect") {
                case 1: ".blur(.extraLight)"
                case 2: ".blur(.soft)"
                case 3: ".blur(.dark)"
                case 4: ".blur(.tinted(\(SwiftCode.color(values.color("color")))))"
                default: ".blur(.light)"
                }
            }),
    ]

    private static let otherImages: [ProcessorKind] = [
        ProcessorKind(
            name: "overlay", title: "Overlay",
            fields: [
                .choice("position", "Position", positions.map(\.title)),
                .number("margin", "Margin", 0...80, 16, unit: "points"),
                .number("opacity", "Opacity", 0...1, 1, digits: 2),
                .number("scale", "Scale", 0.5...3, 1, digits: 2),
            ], operand: .badge,
            make: { values, operands in
                .overlay(
                    operands.badge, at: positions[values.choice("position")].mode, margin: values.number("margin"),
                    opacity: values.number("opacity"), scale: values.number("scale"))
            },
            code: { values in
                SwiftCode.call(
                    "overlay", "badge", "at: .\(positions[values.choice("position")].mode)",
                    "margin: \(SwiftCode.number(values.number("margin")))",
                    values.number("opacity") == 1 ? nil : "opacity: \(SwiftCode.number(values.number("opacity")))",
                    values.number("scale") == 1 ? nil : "scale: \(SwiftCode.number(values.number("scale")))")
            }),
        ProcessorKind(
            name: "blend", title: "Blend",
            fields: [
                .choice("mode", "Blend mode", blendModes.map(\.title)),
                .number("opacity", "Opacity", 0...1, 0.7, digits: 2),
            ], operand: .texture,
            make: { values, operands in
                .blend(
                    operands.texture, mode: blendModes[values.choice("mode")].mode, opacity: values.number("opacity"))
            },
            code: { values in
                SwiftCode.call(
                    "blend", "texture", "mode: .\(blendModes[values.choice("mode")].mode)",
                    values.number("opacity") == 1 ? nil : "opacity: \(SwiftCode.number(values.number("opacity")))")
            }),
        ProcessorKind(
            name: "mask", title: "Mask", fields: [], operand: .mask,
            make: { _, operands in .mask(operands.mask) }, code: { _ in ".mask(mask)" }),
    ]

    // MARK: Parts

    private static let borderFields: [ProcessorField] = [
        .number("border", "Width of the border", 0...40, 0, unit: "points"),
        .color("borderColor", "Color of the border", .white),
    ]

    private static func border(_ values: ProcessorValues) -> Border? {
        let width = values.number("border")
        return width > 0 ? Border(width: width, color: values.color("borderColor")) : nil
    }

    private static func borderCode(_ values: ProcessorValues) -> String? {
        let width = values.number("border")
        guard width > 0 else { return nil }
        let color = SwiftCode.color(values.color("borderColor"))
        return "border: Border(width: \(SwiftCode.number(width)), color: \(color))"
    }

    private static let tintModes: [(mode: BlendMode, title: String)] = [
        (.color, "Color"), (.multiply, "Multiply"), (.screen, "Screen"), (.overlay, "Overlay"), (.hue, "Hue"),
        (.sourceIn, "Source in"),
    ]

    private static let blendModes: [(mode: BlendMode, title: String)] = [
        (.sourceOver, "Source over"), (.multiply, "Multiply"), (.screen, "Screen"), (.overlay, "Overlay"),
        (.softLight, "Soft light"), (.hardLight, "Hard light"), (.colorDodge, "Color dodge"),
        (.colorBurn, "Color burn"), (.difference, "Difference"), (.luminosity, "Luminosity"), (.hue, "Hue"),
    ]

    private static let positions: [(mode: ImageContentMode, title: String)] = [
        (.bottomRight, "Bottom right"), (.bottomLeft, "Bottom left"), (.topRight, "Top right"),
        (.topLeft, "Top left"), (.center, "Center"),
    ]
}
