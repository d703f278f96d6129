internal import CWebImageKernels
internal import WebImageCore

extension PixelBuffer {
    /// These pixels with other colours; the same object for the matrix that changes none.
    ///
    /// - Parameter matrix: of finite numbers.
    /// - Throws: ``WebImageError/outOfMemory(byteCount:)``, ``WebImageError/cancelled``.
    func recolored(by matrix: ColorMatrix, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
        guard matrix != .identity else { return self }
        let (elements, width) = (matrix.elements.map(Float.init), width)
        return try mapRows(isOpaque: isOpaque && matrix.keepsAlpha, cancellation: cancellation) {
            _, source, destination in
            cwi_recolor(source, destination, width, elements)
        }
    }
}
