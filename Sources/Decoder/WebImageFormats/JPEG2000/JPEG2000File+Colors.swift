internal import CWebImageFormats
internal import Glibc
internal import WebImageCoding
internal import WebImageCore

extension JPEG2000File {
    /// Which channels an image is made of.
    private struct Layout {
        var colors: cwi_jp2_colors
        var colorChannels: [Int]
        var alphaChannel: Int?
        var isPremultiplied = false
    }

    /// - Parameter hasInkProfile: whether the file has a color profile for CMYK.
    private func layout(hasInkProfile: Bool) -> Layout {
        let isInk = (colorSpace == .cmyk || hasInkProfile) && channels.count >= 4
        let ordered = definitions.filter { $0.type == 0 && (1..<65_535).contains($0.association) }
            .sorted { $0.association < $1.association }.map(\.channel)
        // Alpha may be that of one color only; then there is rarely a second one.
        let alpha =
            definitions.first { [1, 2].contains($0.type) && $0.association == 0 }
            ?? definitions.first { [1, 2].contains($0.type) }
        var alphaChannel = alpha?.channel
        // As other readers do, a second or fourth channel of unknown purpose counts as alpha.
        if alpha == nil, [2, 4].contains(channels.count), !isInk, !ordered.contains(channels.count - 1) {
            alphaChannel = channels.count - 1
        }
        let remaining = channels.indices.filter { $0 != alphaChannel }
        let colorChannels = ordered.count >= min(3, remaining.count) ? ordered : Array(remaining)
        let (colors, count) = colorModel(
            colorChannels, isInk: isInk, hasInkProfile: hasInkProfile && alphaChannel == nil)
        return Layout(
            colors: colors, colorChannels: Array(colorChannels.prefix(count)), alphaChannel: alphaChannel,
            isPremultiplied: alpha?.type == 2)
    }

    private func colorModel(
        _ colorChannels: [Int], isInk: Bool, hasInkProfile: Bool
    ) -> (colors: cwi_jp2_colors, count: Int) {
        if isInk, colorChannels.count >= 4 { return (hasInkProfile ? CWI_JP2_INK : CWI_JP2_CMYK, 4) }
        guard colorChannels.count >= 3 else { return (CWI_JP2_GRAY, 1) }
        // Like OpenJPEG's programs: only chroma has fewer columns.
        let (first, second) = (component(of: colorChannels[0]), component(of: colorChannels[1]))
        let hasChroma = channels.count == 3 && first.dx == first.dy && second.dx > first.dx
        switch colorSpace {
        case .ycc: return (CWI_JP2_YCC, 3)
        case .extendedYCC: return (hasChroma ? CWI_JP2_YCC : CWI_JP2_EYCC, 3)
        case .lab: return (CWI_JP2_LAB, 3)
        default: return (hasChroma ? CWI_JP2_YCC : CWI_JP2_RGB, 3)
        }
    }

    private func component(of channel: Int) -> Codestream.Component {
        codestream.components[channels[channel].component]
    }

    /// Calls `body` with the description that decoding needs.
    func withPicture<Result>(
        of bytes: RawSpan, _ body: (UnsafePointer<cwi_jp2_picture>) -> Result
    ) -> Result {
        let hasInkProfile = profile.map { bytes.hasText("CMYK", at: $0.lowerBound + 16) } ?? false
        let layout = layout(hasInkProfile: hasInkProfile)
        let used = layout.colorChannels + (layout.alphaChannel.map { [$0] } ?? [])
        var palette: [UInt16] = []
        var picture = cwi_jp2_picture()
        withUnsafeMutableBytes(of: &picture.channels) { memory in
            let target = memory.assumingMemoryBound(to: cwi_jp2_channel.self)
            for (index, channel) in used.enumerated() {
                target[index] = description(of: channel, at: index, of: layout, palette: &palette)
            }
        }
        let components = used.map { component(of: $0) }
        picture.dx = UInt32(components.lazy.map(\.dx).min() ?? 1)
        picture.dy = UInt32(components.lazy.map(\.dy).min() ?? 1)
        picture.depth = Int32(used.lazy.map { channels[$0].depth }.max() ?? 8)
        picture.colors = layout.colors
        picture.color_count = Int32(layout.colorChannels.count)
        picture.has_alpha = layout.alphaChannel != nil
        picture.is_premultiplied = layout.isPremultiplied
        picture.profile_offset = profile?.lowerBound ?? 0
        picture.profile_length = profile?.count ?? 0
        describe(codestream, in: &picture)
        return palette.withUnsafeBufferPointer { palette in
            (picture.palette, picture.palette_count) = (palette.baseAddress, palette.count)
            return body(&picture)
        }
    }

    private func describe(_ codestream: Codestream, in picture: inout cwi_jp2_picture) {
        picture.codestream_offset = codestreamOffset
        picture.codestream_length = codestream.parts.end
        picture.cut_offset = codestream.parts.cut?.offset ?? 0
        picture.cut_length = UInt32(clamping: codestream.parts.cut?.length ?? 0)
        picture.is_complete = codestream.isComplete
        picture.has_packed_headers = codestream.hasPackedHeaders
        picture.component_count = UInt32(codestream.components.count)
        picture.x0 = UInt32(codestream.columns.lowerBound)
        picture.y0 = UInt32(codestream.rows.lowerBound)
        picture.x1 = UInt32(codestream.columns.upperBound)
        picture.y1 = UInt32(codestream.rows.upperBound)
        let grid = Codestream.Component(depth: 1, isSigned: false, dx: Int(picture.dx), dy: Int(picture.dy))
        let size = grid.size(codestream.columns, codestream.rows)
        (picture.width, picture.height) = (UInt32(size.width), UInt32(size.height))
        picture.resolution_count = Int32(codestream.resolutionCount)
    }

    private func description(
        of index: Int, at position: Int, of layout: Layout, palette: inout [UInt16]
    ) -> cwi_jp2_channel {
        let (channel, component, colors) = (channels[index], component(of: index), layout.colors)
        var result = cwi_jp2_channel()
        result.component = UInt32(channel.component)
        (result.dx, result.dy) = (UInt32(component.dx), UInt32(component.dy))
        if let levels = channel.palette {
            (result.palette_start, result.palette_count) = (palette.count, levels.count)
            palette += levels
        }
        let highest = exp2(Double(channel.depth)) - 1
        let half = exp2(Double(channel.depth - 1))
        result.scale = highest / 65_535
        if colors == CWI_JP2_YCC || colors == CWI_JP2_EYCC, position < 3 {
            // Chroma is centered, and has the unit of luma.
            let luma = exp2(Double(channels[layout.colorChannels[0]].depth)) - 1
            (result.scale, result.offset) = (luma / 65_535, position == 0 ? 0 : -half / highest * luma)
        }
        if colors == CWI_JP2_LAB, position < 3, case .lab(let ranges) = colorSpace {
            // M.11.7.4.1: L is from 0 to 100; the defaults of a and b are those of the standard.
            let defaultOffset = [0, half, half / 2 + half / 4][position]
            let range = ranges?.range[position] ?? [100, 170, 200][position]
            let offset = (ranges?.offset[position] ?? defaultOffset) + (channel.isSigned ? half : 0)
            (result.scale, result.offset) = (range / 65_535, -range * offset / highest)
        }
        return result
    }
}
