import Testing
import WebImageCore
import WebImageProcessing

/// Every processor, fed with what nobody means: it makes a picture, or says what is wrong.
@Suite struct ExtremeInputTests {
    private static let numbers: [Double] = [
        0, -0.0, 1, -1, 0.5, 1e-9, 2.3e-16, -1e-300, .leastNonzeroMagnitude, 1e9, -1e9, 1e19, 1e300,
        .greatestFiniteMagnitude, -.greatestFiniteMagnitude, .infinity, -.infinity, .nan,
    ]

    /// - Parameter other: a second picture, for those that need one.
    private static func processors(_ a: Double, _ b: Double, other: Image) -> [any ImageProcessor] {
        let color = Color(red: a, green: b, blue: 0.5, alpha: a)
        let rect = PointRect(x: a, y: b, width: b, height: a)
        let border = Border(width: a, color: Color(red: b, green: 0, blue: 0, alpha: 0.5), join: .bevel)
        return [
            .resize(width: a), .resize(height: b, filter: .fast), .resize(to: PointSize(width: 3, height: a)),
            .resize(to: PointSize(width: 3, height: 2), mode: .letterbox(color)), .crop(to: rect),
            .inset(by: PointInsets(top: a, left: b, bottom: -a, right: 0), color: color),
            .roundedCorners(radii: CornerRadii(topLeft: a, topRight: b, bottomRight: 1), border: border),
            .circle(border: border), .rotate(clockwise: .degrees(a), keepsSize: true), .flip(.both),
            .draw(in: rect, canvas: PointSize(width: 4, height: 3), background: color),
            .draw(
                in: PointRect(x: 0.5, y: 0.5, width: a, height: b), canvas: PointSize(width: 4, height: 3),
                contentMode: .scaleAspectFill, clips: true),
            .blend(other, id: "other", x: a, y: b, mode: .softLight, opacity: 0.5),
            .blend(other, id: "other", opacity: a),
            .overlay(other, id: "other", margin: a, scale: b), .mask(other, id: "other"), .tint(color, mode: .hue),
            .color(saturation: a, brightness: b, contrast: a),
            .colorMatrix(ColorMatrix(alpha: ColorMatrix.Row(red: a, constant: b))),
            .blur(BlurEffect(radius: a, saturation: b, tint: color), mask: other, maskID: "other"),
        ]
    }

    private func expectsPicturesOrReasons(of image: Image, numbers: [Double]) throws {
        let other = try EffectPixels(noise: 3, 2, seed: 5).image()
        for a in numbers {
            for b in numbers {
                for processor in Self.processors(a, b, other: other) {
                    do throws(WebImageError) {
                        let result = try EffectPixels(processor.process(image, cancellation: nil))
                        #expect(result.isPremultiplied, "\(processor.identifier)")
                    } catch {
                        switch error {
                        case .processing, .invalidSize, .outOfMemory: break
                        default: Issue.record("\(processor.identifier): \(error)")
                        }
                    }
                }
            }
        }
    }

    @Test func numbersOfAllKinds() throws {
        try expectsPicturesOrReasons(of: EffectPixels(noise: 2, 3, seed: 1).image(), numbers: Self.numbers)
    }

    @Test func scalesOfAllKinds() throws {
        for scale in Self.numbers {
            try expectsPicturesOrReasons(
                of: EffectPixels(noise: 1, 1, seed: 2).image(scale: scale), numbers: [1, 1e-9, 0.5])
        }
    }

    @Test func veryLongPictures() throws {
        for (width, height) in [(30_000, 1), (1, 30_000)] {
            try expectsPicturesOrReasons(
                of: EffectPixels(noise: width, height, seed: 3).image(), numbers: [2.5])
        }
    }

    /// A picture drawn on a ten-millionth of a billionth of a pixel.
    @Test func drawsNextToNothing() throws {
        let image = try EffectPixels(noise: 200, 200, seed: 4, isOpaque: true).image()
        let rect = PointRect(x: 0.5, y: 0.5, width: 2.3e-16, height: 2.3e-16)
        let drawn = try image.drawn(in: rect, canvas: PointSize(width: 2, height: 2))
        #expect(EffectPixels(drawn) == EffectPixels(width: 2, height: 2, pixel: [0, 0, 0, 0]))
    }

    /// A crop shows its part of a larger picture's memory: nothing beside it may be read.
    @Test func partsOfLargerPicturesAreLikeCopies() throws {
        let whole = try EffectPixels(noise: 40, 30, seed: 6).image()
        let part = try whole.cropped(toPixels: PixelRect(x: 3, y: 2, width: 33, height: 27))
        #expect(part.pixels.bytesPerRow > part.width * 4)
        let copy = try EffectPixels(part).image()
        let mask = try EffectPixels(noise: 60, 60, seed: 7).image()
        let other = try mask.cropped(toPixels: PixelRect(x: 5, y: 5, width: 50, height: 50))
        let rect = PointRect(x: 2.25, y: 1.5, width: 20.5, height: 14.25)
        let processors: [any ImageProcessor] =
            Self.processors(3, 7, other: other) + [
                .resize(to: PointSize(width: 12, height: 12), mode: .aspectFillCropped),
                .resize(to: PointSize(width: 50, height: 50), mode: .letterbox(.white)),
                .resize(to: PointSize(width: 7, height: 7), filter: .nearest), .rotate(clockwise: .degrees(90)),
                .resize(to: PointSize(width: 7, height: 7), filter: .fast), .rotate(clockwise: .degrees(33)),
                .roundedCorners(radius: 6), .draw(in: rect, canvas: PointSize(width: 30, height: 20)),
                .blur(BlurEffect(radius: 4), mask: other, maskID: "o"), .mask(other, id: "o", channel: .alpha),
                .blend(part, id: "itself", x: 2, y: 3, mode: .screen),
            ]
        for processor in processors {
            let (one, two) = (
                Result { try EffectPixels(processor.process(part, cancellation: nil)) },
                Result { try EffectPixels(processor.process(copy, cancellation: nil)) }
            )
            switch (one, two) {
            case (.success(let one), .success(let two)): #expect(one == two, "\(processor.identifier)")
            case (.failure, .failure): break
            default: Issue.record("\(processor.identifier): \(one), \(two)")
            }
        }
        #expect(part.averageColor == copy.averageColor)
        #expect(part.dominantColor() == copy.dominantColor())
        #expect(part.hasTranslucentPixels)
        #expect(try BlurHash(of: part) == BlurHash(of: copy))
        #expect(try ThumbHash(of: part) == ThumbHash(of: copy))
    }
}
