import Foundation
import WebImageCore

/// A library that people would use instead, driven by a Python program that measures itself: Python's start and what it
/// takes to read the image do not count.
struct ProcessingPeer {
    /// The measured operation.
    enum Operation {
        case resize(width: Int, height: Int)
        case blur(standardDeviation: Double)
        case grayscale, sepia, tint, blend, screen, average

        /// The name of a Python function, and its arguments.
        fileprivate var arguments: [String] {
            switch self {
            case .resize(let width, let height): ["resize", "\(width)", "\(height)"]
            case .blur(let standardDeviation): ["blur", "\(standardDeviation)"]
            case .grayscale: ["grayscale"]
            case .sepia: ["sepia"]
            case .tint: ["tint"]
            case .blend: ["blend"]
            case .screen: ["screen"]
            case .average: ["average"]
            }
        }
    }

    enum Answer {
        /// Seconds for one, and the result's rows of red, green and blue.
        case measured(Double, Data)
        /// The library is not installed.
        case missing
        /// It has no such operation.
        case unable
    }

    let name: String
    /// Debian's.
    let package: String
    /// Functions named as operations are: each takes arguments, and returns what does the work and what makes RGB bytes
    /// of its result. `data`, `width` and `height` are the image.
    private let script: String

    func measure(_ operation: Operation, on pixels: PixelBuffer, roundCount: Int) throws -> Answer {
        let folder = FileManager.default.temporaryDirectory.appending(path: "webimage-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (input, output) = (folder.appending(path: "in"), folder.appending(path: "out"))
        try pixels.withUnsafeBytes { try Data($0).write(to: input) }
        let process = Process()
        let answer = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments =
            ["/usr/bin/python3", "-c", Self.beginning + script + Self.end, input.path, output.path]
            + ["\(pixels.width)", "\(pixels.height)", "\(roundCount)"] + operation.arguments
        process.standardOutput = answer
        process.standardError = FileHandle.nullDevice
        try process.run()
        let text = String(decoding: answer.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        switch process.terminationStatus {
        case 0:
            guard let seconds = Double(text.trimmingCharacters(in: .whitespacesAndNewlines)) else {
                throw WrongResult(description: "\(name) says '\(text)'")
            }
            return .measured(seconds, try Data(contentsOf: output))
        case 3, 127: return .missing
        case 4: return .unable
        default: throw WrongResult(description: "\(name) failed at \(operation)")
        }
    }

    static let all = [
        ProcessingPeer(
            name: "Pillow", package: "python3-pil",
            script: """
                from PIL import Image, ImageChops, ImageFilter, ImageStat
                four = Image.frombytes("RGBX", (width, height), data)
                rgb = four.convert("RGB")
                other = rgb.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
                bytes_of = lambda image: image.convert("RGB").tobytes()
                def resize(w, h): return lambda: four.resize((int(w), int(h)), Image.Resampling.LANCZOS), bytes_of
                def blur(sigma): return lambda: four.filter(ImageFilter.GaussianBlur(float(sigma))), bytes_of
                def grayscale():
                    luma = (0.2126, 0.7152, 0.0722, 0)
                    return lambda: rgb.convert("L", luma), bytes_of
                def sepia():
                    matrix = (0.393, 0.769, 0.189, 0, 0.349, 0.686, 0.168, 0, 0.272, 0.534, 0.131, 0)
                    return lambda: rgb.convert("RGB", matrix), bytes_of
                def tint():
                    def work(): return ImageChops.multiply(rgb, Image.new("RGB", rgb.size, (255, 153, 51)))
                    return work, bytes_of
                def blend(): return lambda: Image.blend(rgb, other, 0.5), bytes_of
                def screen(): return lambda: ImageChops.screen(rgb, other), bytes_of
                def average():
                    return lambda: ImageStat.Stat(rgb).mean, lambda mean: bytes(round(value) for value in mean)

                """),
        ProcessingPeer(
            name: "OpenCV", package: "python3-opencv",
            script: """
                import cv2
                import numpy as np
                four = np.frombuffer(data, np.uint8).reshape(height, width, 4)
                other = np.ascontiguousarray(four[:, ::-1])
                bytes_of = lambda pixels: pixels[..., :3].tobytes()
                def resize(w, h): return lambda: cv2.resize(four, (int(w), int(h)), interpolation=cv2.INTER_AREA), bytes_of
                def blur(sigma):
                    border = cv2.BORDER_REPLICATE
                    return lambda: cv2.GaussianBlur(four, (0, 0), float(sigma), borderType=border), bytes_of
                def grayscale():
                    return (lambda: cv2.transform(four, np.array([[0.2126, 0.7152, 0.0722, 0]], np.float32)),
                        lambda gray: np.repeat(gray.reshape(height, width, 1), 3, axis=2).tobytes())
                def sepia():
                    matrix = np.float32([[0.393, 0.769, 0.189, 0], [0.349, 0.686, 0.168, 0], [0.272, 0.534, 0.131, 0], [0, 0, 0, 1]])
                    return lambda: cv2.transform(four, matrix), bytes_of
                def tint(): return lambda: cv2.multiply(four, (1, 0.6, 0.2, 1)), bytes_of
                def blend(): return lambda: cv2.addWeighted(four, 0.5, other, 0.5, 0), bytes_of
                def average(): return lambda: cv2.mean(four), lambda mean: bytes(round(value) for value in mean[:3])

                """),
        ProcessingPeer(
            name: "libvips", package: "libvips-tools",
            script: """
                import ctypes
                from ctypes import byref, c_double, c_int, c_size_t, c_void_p
                vips = ctypes.CDLL("libvips.so.42")
                vips.vips_init(b"benchmark")
                # Nothing may be remembered from the round before.
                vips.vips_cache_set_max(0)
                vips.vips_image_new_from_memory.restype = c_void_p
                vips.vips_image_write_to_memory.restype = c_void_p
                vips.vips_image_new_matrix_from_array.restype = c_void_p
                def image(raw):
                    return c_void_p(vips.vips_image_new_from_memory(raw, c_size_t(len(raw)), width, height, 4, 0))
                def release(thing):
                    ctypes.CDLL("libgobject-2.0.so.0").g_object_unref(thing)
                four = image(data)
                class Result:
                    def __init__(self, operation, *arguments):
                        out = c_void_p()
                        if getattr(vips, "vips_" + operation)(four, byref(out), *arguments, c_void_p()) != 0: sys.exit(5)
                        self.last = [out]
                    def then(self, operation, *arguments):
                        out = c_void_p()
                        if getattr(vips, "vips_" + operation)(self.last[-1], byref(out), *arguments, c_void_p()) != 0: sys.exit(5)
                        self.last.append(out)
                        return self
                    def evaluated(self):
                        size = c_size_t()
                        self.size = (vips.vips_image_get_width(self.last[-1]), vips.vips_image_get_height(self.last[-1]))
                        self.memory = vips.vips_image_write_to_memory(self.last[-1], byref(size))
                        self.length = size.value
                        for step in reversed(self.last): release(step)
                        return self
                    def __del__(self):
                        ctypes.CDLL("libglib-2.0.so.0").g_free(c_void_p(self.memory))
                def bytes_of(result):
                    raw = ctypes.string_at(result.memory, result.length)
                    bands = result.length // (result.size[0] * result.size[1])
                    if bands == 1: return b"".join(raw[i:i + 1] * 3 for i in range(len(raw)))
                    rgb = bytearray(result.size[0] * result.size[1] * 3)
                    for channel in range(3): rgb[channel::3] = raw[channel::bands]
                    return bytes(rgb)
                def recombined(rows):
                    flat = (c_double * (len(rows) * 4))(*[number for row in rows for number in row])
                    matrix = c_void_p(vips.vips_image_new_matrix_from_array(4, len(rows), flat, len(rows) * 4))
                    return lambda: Result("recomb", matrix).then("cast", c_int(0)).evaluated(), bytes_of
                def resize(w, h):
                    vscale = c_double(int(h) / height)
                    return lambda: Result("resize", c_double(int(w) / width), b"vscale", vscale).evaluated(), bytes_of
                def blur(sigma): return lambda: Result("gaussblur", c_double(float(sigma))).evaluated(), bytes_of
                def grayscale(): return recombined([[0.2126, 0.7152, 0.0722, 0]])
                def sepia():
                    return recombined([[0.393, 0.769, 0.189, 0], [0.349, 0.686, 0.168, 0], [0.272, 0.534, 0.131, 0], [0, 0, 0, 1]])
                def tint():
                    factors, zeros = (c_double * 4)(1, 0.6, 0.2, 1), (c_double * 4)(0, 0, 0, 0)
                    return lambda: Result("linear", factors, zeros, 4).then("cast", c_int(0)).evaluated(), bytes_of

                """),
    ]

    private static let beginning = """
        import sys, time
        source, target, width, height, rounds = sys.argv[1:6]
        width, height, rounds = int(width), int(height), int(rounds)
        data = open(source, "rb").read()
        def complain(kind, error, trace): sys.exit(3 if issubclass(kind, (ImportError, OSError)) else 1)
        sys.excepthook = complain

        """

    private static let end = """
        if sys.argv[6] not in globals(): sys.exit(4)
        work, bytes_of_result = globals()[sys.argv[6]](*sys.argv[7:])
        times = []
        for _ in range(rounds + 1):
            start = time.perf_counter()
            result = work()
            times.append(time.perf_counter() - start)
        open(target, "wb").write(bytes_of_result(result))
        print(sorted(times[1:])[rounds // 2])
        """
}
