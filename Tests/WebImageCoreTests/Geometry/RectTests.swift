import FoundationEssentials
import Testing
@testable import WebImageCore

@Suite(.timeLimit(.minutes(3))) struct RectTests {
    @Test func clampsToTheBoundsOfAnImage() {
        let size = PixelSize(width: 10, height: 8)
        func clamped(_ x: Int, _ y: Int, _ width: Int, _ height: Int) -> PixelRect? {
            PixelRect(x: x, y: y, width: width, height: height).clamped(to: size)
        }
        #expect(clamped(2, 3, 4, 5) == PixelRect(x: 2, y: 3, width: 4, height: 5))
        #expect(clamped(-2, -3, 40, 50) == PixelRect(x: 0, y: 0, width: 10, height: 8))
        #expect(clamped(9, 7, .max, .max) == PixelRect(x: 9, y: 7, width: 1, height: 1))
        #expect(clamped(10, 0, 5, 5) == nil)
        #expect(clamped(-5, 0, 5, 5) == nil)
        #expect(clamped(0, 0, 0, 5) == nil)
        #expect(clamped(5, 5, -2, 2) == nil)
        #expect(clamped(.min, .min, .min, .min) == nil)
        #expect(clamped(.max, 0, .max, 1) == nil)
    }

    @Test func anglesAreNormalizedToOneRotation() {
        for (degrees, normalized) in [
            (370.0, 10.0), (-90, 270), (360, 0), (-360, 0), (0, 0), (-1e-20, 0), (719.5, 359.5),
        ] {
            #expect(Angle.degrees(degrees).normalized == .degrees(normalized))
        }
        #expect(Angle.degrees(-0.0).normalized.degrees.sign == .plus)
        #expect(Angle.radians(.pi / 2).degrees == 90)
        #expect(Angle.degrees(180).radians == .pi)
    }

    @Test func contentModesPlaceAnImage() {
        let (size, rect) = (PointSize(width: 40, height: 20), PointRect(x: 10, y: 5, width: 30, height: 30))
        func place(_ mode: ImageContentMode) -> PointRect { mode.rect(of: size, in: rect) }
        #expect(place(.scaleToFill) == rect)
        #expect(place(.scaleAspectFit) == PointRect(x: 10, y: 12.5, width: 30, height: 15))
        #expect(place(.scaleAspectFill) == PointRect(x: -5, y: 5, width: 60, height: 30))
        #expect(place(.center) == PointRect(x: 5, y: 10, width: 40, height: 20))
        #expect(place(.topLeft) == PointRect(x: 10, y: 5, width: 40, height: 20))
        #expect(place(.bottomRight) == PointRect(x: 0, y: 15, width: 40, height: 20))
        #expect(ImageContentMode.allCases.count == 12)
        // An image that is higher than wide.
        let tall = PointSize(width: 20, height: 40)
        let fitted = ImageContentMode.scaleAspectFit.rect(of: tall, in: rect)
        #expect(fitted == PointRect(x: 17.5, y: 5, width: 15, height: 30))
        let filled = ImageContentMode.scaleAspectFill.rect(of: tall, in: rect)
        #expect(filled == PointRect(x: 10, y: -10, width: 30, height: 60))
    }

    @Test func aFocalPointMovesTowardsTheCenterAsFarAsTheImageExtends() {
        let (size, rect) = (PointSize(width: 40, height: 20), PointRect(x: 10, y: 5, width: 30, height: 30))
        func x(_ focus: FocalPoint) -> Double {
            ImageContentMode.scaleAspectFill.rect(of: size, in: rect, focus: focus).x
        }
        #expect(x(.center) == -5)
        #expect(x(FocalPoint(x: -0.25, y: 1)) == 2.5)
        #expect(x(FocalPoint(x: -1, y: 0)) == 10)
        #expect(x(FocalPoint(x: 1, y: 0)) == -20)
        let tall = PointSize(width: 20, height: 40)
        let top = ImageContentMode.scaleAspectFill.rect(of: tall, in: rect, focus: FocalPoint(x: 0, y: 0.75))
        #expect(top == PointRect(x: 10, y: 5, width: 30, height: 60))
        let fitted = ImageContentMode.scaleAspectFit.rect(of: tall, in: rect, focus: FocalPoint(x: 0, y: 0.75))
        #expect(fitted == ImageContentMode.scaleAspectFit.rect(of: tall, in: rect))
    }

    @Test func focalPointsHaveTheCoordinatesOfMastodonAndOfCSS() throws {
        let point = FocalPoint(x: -0.5, y: 0.5)
        #expect(point.left == 0.25 && point.top == 0.25)
        #expect(FocalPoint(left: 0.25, top: 0.25) == point)
        #expect(FocalPoint(x: -7, y: .infinity) == FocalPoint(x: -1, y: 1))
        #expect(FocalPoint(x: .nan, y: 0) == .center)
        let json = Data(#"{"x": -0.5, "y": 9}"#.utf8)
        #expect(try JSONDecoder().decode(FocalPoint.self, from: json) == FocalPoint(x: -0.5, y: 1))
        #expect(try JSONDecoder().decode(FocalPoint.self, from: JSONEncoder().encode(point)) == point)
    }
}
