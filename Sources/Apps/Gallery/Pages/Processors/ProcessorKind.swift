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
            name: "resize", title: localized("Resize"),
            fields: [
                .choice(
                    "mode", localized("Mode"),
                    [
                        localized("Fit"), localized("Fill and crop"), localized("Fill"), localized("Stretch"),
                        localized("Letterbox"),
                    ]),
                .number("width", localized("Width"), 16...720, 480, unit: localized("pixels")),
                .number("height", localized("Height"), 16...720, 320, unit: localized("pixels")),
                .color("color", localized("Color of the letterbox"), .black),
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
            name: "crop", title: localized("Crop"),
            fields: [
                .number("x", localized("Left"), 0...700, 120, unit: localized("pixels")),
                .number("y", localized("Top"), 0...700, 60, unit: localized("pixels")),
                .number("width", localized("Width"), 1...720, 360, unit: localized("pixels")),
                .number("height", localized("Height"), 1...720, 280, unit: localized("pixels")),
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
            name: "inset", title: localized("Inset"),
            fields: [
                .number("distance", localized("Distance"), -80...80, -24, unit: localized("points")),
                .color("color", localized("Color outside"), .white),
            ],
            make: { values, _ in .inset(values.number("distance"), color: values.color("color")) },
            code: { values in
                SwiftCode.call(
                    "inset", SwiftCode.number(values.number("distance")),
                    "color: \(SwiftCode.color(values.color("color")))")
            }),
        ProcessorKind(
            name: "corners", title: localized("Rounded corners"),
            fields: [.number("radius", localized("Radius"), 0...200, 40, unit: localized("points"))] + borderFields,
            make: { values, _ in .roundedCorners(radius: values.number("radius"), border: border(values)) },
            code: { values in
                SwiftCode.call(
                    "roundedCorners", "radius: \(SwiftCode.number(values.number("radius")))", borderCode(values))
            }),
        ProcessorKind(
            name: "circle", title: localized("Circle"), fields: borderFields,
            make: { values, _ in .circle(border: border(values)) },
            code: { values in SwiftCode.call("circle", borderCode(values)) }),
        ProcessorKind(
            name: "rotate", title: localized("Rotate"),
            fields: [
                .number("degrees", localized("Angle"), -180...180, 12, unit: localized("degrees")),
                .flag("keepsSize", localized("Keep the size"), false),
            ],
            make: { values, _ in .rotate(degrees: values.number("degrees"), keepsSize: values.flag("keepsSize")) },
            code: { values in
                SwiftCode.call(
                    "rotate", "degrees: \(SwiftCode.number(values.number("degrees")))",
                    values.flag("keepsSize") ? "keepsSize: true" : nil)
            }),
        ProcessorKind(
            name: "flip", title: localized("Flip"),
            fields: [
                .flag("horizontally", localized("Horizontally"), true),
                .flag("vertically", localized("Vertically"), false),
            ],
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
            name: "color", title: localized("Saturation, brightness, contrast"),
            fields: [
                .number("saturation", localized("Saturation"), 0...3, 1.4, digits: 2),
                .number("brightness", localized("Brightness"), -0.5...0.5, 0, digits: 2),
                .number("contrast", localized("Contrast"), 0...2, 1.1, digits: 2),
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
            name: "grayscale", title: localized("Grayscale"), fields: [], make: { _, _ in .grayscale() },
            code: { _ in ".grayscale()" }),
        ProcessorKind(
            name: "inverted", title: localized("Inverted colors"), fields: [], make: { _, _ in .inverted() },
            code: { _ in ".inverted()" }),
        ProcessorKind(
            name: "sepia", title: localized("Sepia"),
            fields: [.number("amount", localized("Amount"), 0...1, 0.8, digits: 2)],
            make: { values, _ in .sepia(values.number("amount")) },
            code: { values in SwiftCode.call("sepia", SwiftCode.number(values.number("amount"))) }),
        ProcessorKind(
            name: "tint", title: localized("Tint"),
            fields: [
                .color("color", localized("Color"), Color(red: 0.9, green: 0.4, blue: 0.1)),
                .choice("mode", localized("Blend mode"), tintModes.map(\.title)),
            ],
            make: { values, _ in .tint(values.color("color"), mode: tintModes[values.choice("mode")].mode) },
            code: { values in
                SwiftCode.call(
                    "tint", SwiftCode.color(values.color("color")), "mode: .\(tintModes[values.choice("mode")].mode)")
            }),
    ]

    private static let effects: [ProcessorKind] = [
        ProcessorKind(
            name: "blur", title: localized("Blur"),
            fields: [.number("radius", localized("Radius"), 0...60, 12, unit: localized("points"))],
            make: { values, _ in .blur(radius: values.number("radius")) },
            code: { values in SwiftCode.call("blur", "radius: \(SwiftCode.number(values.number("radius")))") }),
        ProcessorKind(
            name: "glass", title: localized("Frosted glass"),
            fields: [
                .choice(
                    "effect", localized("Effect"),
                    [
                        localized("Light"), localized("Extra light"), localized("Soft"), localized("Dark"),
                        localized("Tinted"),
                    ]),
                .color("color", localized("Color of the tint"), Color(red: 0.1, green: 0.4, blue: 0.9)),
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
            name: "overlay", title: localized("Overlay"),
            fields: [
                .choice("position", localized("Position"), positions.map(\.title)),
                .number("margin", localized("Margin"), 0...80, 16, unit: localized("points")),
                .number("opacity", localized("Opacity"), 0...1, 1, digits: 2),
                .number("scale", localized("Scale"), 0.5...3, 1, digits: 2),
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
            name: "blend", title: localized("Blend"),
            fields: [
                .choice("mode", localized("Blend mode"), blendModes.map(\.title)),
                .number("opacity", localized("Opacity"), 0...1, 0.7, digits: 2),
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
            name: "mask", title: localized("Mask"), fields: [], operand: .mask,
            make: { _, operands in .mask(operands.mask) }, code: { _ in ".mask(mask)" }),
    ]

    // MARK: Parts

    private static let borderFields: [ProcessorField] = [
        .number("border", localized("Width of the border"), 0...40, 0, unit: localized("points")),
        .color("borderColor", localized("Color of the border"), .white),
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
        (.color, localized("Color")), (.multiply, localized("Multiply")), (.screen, localized("Screen")),
        (.overlay, localized("Overlay")), (.hue, localized("Hue")),
        (.sourceIn, localized("Source in")),
    ]

    private static let blendModes: [(mode: BlendMode, title: String)] = [
        (.sourceOver, localized("Source over")), (.multiply, localized("Multiply")), (.screen, localized("Screen")),
        (.overlay, localized("Overlay")),
        (.softLight, localized("Soft light")), (.hardLight, localized("Hard light")),
        (.colorDodge, localized("Color dodge")),
        (.colorBurn, localized("Color burn")), (.difference, localized("Difference")),
        (.luminosity, localized("Luminosity")), (.hue, localized("Hue")),
    ]

    private static let positions: [(mode: ImageContentMode, title: String)] = [
        (.bottomRight, localized("Bottom right")), (.bottomLeft, localized("Bottom left")),
        (.topRight, localized("Top right")),
        (.topLeft, localized("Top left")), (.center, localized("Center")),
    ]
}
