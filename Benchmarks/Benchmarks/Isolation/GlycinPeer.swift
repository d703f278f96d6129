#if WEBIMAGE_FORMATS
    import CWebImageBenchmarkPeers
    import FoundationEssentials
    import Glibc
    import WebImageCore

    /// GNOME's glycin, which decodes each image in a sandbox of bubblewrap. `nil` where its library is not installed.
    struct GlycinPeer {
        let description: String

        init?() {
            guard let name = peer_glycin_open() else { return nil }
            description = "\(String(cString: name)), a process of bubblewrap for each image"
        }

        /// `nil` for a format without a loader.
        func median(of data: Data, size: PixelSize, _ roundCount: Int) throws -> Duration? {
            let file = FileManager.default.temporaryDirectory.appending(path: "webimage-glycin-\(getpid())")
            try data.write(to: file)
            defer { try? FileManager.default.removeItem(at: file) }
            var times: [Duration] = []
            for _ in 0..<roundCount {
                var (width, height) = (UInt32(0), UInt32(0))
                let start = ContinuousClock.now
                guard peer_decode_glycin(file.path, &width, &height) else { return nil }
                times.append(ContinuousClock.now - start)
                guard PixelSize(width: Int(width), height: Int(height)) == size else {
                    throw WrongResult(description: "glycin: \(width) × \(height) pixels")
                }
            }
            return times.sorted()[roundCount / 2]
        }
    }
#endif
