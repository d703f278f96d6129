import Glibc
import WebImageCore
import WebImageProcessing

extension BenchmarkGroup {
    /// Sizes and shapes: of 12 megapixels in the time they may take, of 2 beside a copy of as many bytes.
    static let geometry = BenchmarkGroup(name: "geometry-processing") { table in
        let photo = Image(pixels: try drawing(PixelSize(width: 4032, height: 3024)))
        // The sharp filter stands beside other programs in the other group.
        for side in [1024, 200] {
            let box = PixelSize(width: side, height: side)
            try table.compare("fast filter, 12 MP to \(side) px", budget: .milliseconds(15)) {
                let image = try photo.processed(by: [
                    .resize(to: .pixels(width: box.width, height: box.height), filter: .fast)
                ])
                guard image.width == side else { throw WrongResult(description: "\(image.width) pixels wide") }
            }
        }
        let picture = Image(pixels: try drawing(PixelSize(width: 1920, height: 1080)))
        let bytes = picture.pixels.withUnsafeBytes { Array($0) }
        var copy = bytes
        let border = Border(width: 8, color: Color(red: 1, green: 1, blue: 1, alpha: 0.8))
        let processors: [ImageProcessor] = [
            .crop(toPixels: PixelRect(x: 100, y: 100, width: 1700, height: 900)),
            .crop(toPixels: PixelRect(x: 100, y: 100, width: 800, height: 800)), .flip(horizontally: true),
            .flip(vertically: true),
            .rotate(degrees: 90), .rotate(degrees: 180), .rotate(degrees: 17),
            .roundedCorners(radius: 64), .roundedCorners(radius: 64, border: border), .circle(),
            .inset(-20, color: .white),
            .draw(
                in: PointRect(x: 10.5, y: 10.5, width: 1900, height: 1000),
                canvas: PointSize(width: 1920, height: 1080)),
        ]
        for processor in processors {
            let name = String(processor.identifier.description.prefix(26))
            try table.compare("\(name)… against a copy") {
                _ = try picture.processed(by: [processor])
            } yardstick: {
                memcpy(&copy, bytes, bytes.count)
            }
        }
    }
}
