#if WEBIMAGE_FORMATS
    import Dispatch
    import FoundationEssentials
    import Glibc
    import WebImage
    import WebImageCore
    import WebImageTestSupport

    extension IsolationBenchmark {
        /// Loads of photographs, alone, and while others load files that take all the time and memory they are given.
        func measurePace() throws {
            let seconds = isQuick ? 1.5 : 6.0
            let figures = FigureTable(columns: [
                "loads beside hostile files", "p50, ms", "p99, ms", "p99, ratio", "loads/s", "bombs", "host, MiB",
                "decoders, MiB",
            ])
            let folder = FileManager.default.temporaryDirectory.appending(path: "webimage-pace-\(getpid())")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let pace = Pace(
                photos: try [ImageFormat.jpeg, .avif, .png].map { format in
                    let file = folder.appending(path: "photo.\(format.name)")
                    try sample(of: format, byteCount: 100 << 10).write(to: file)
                    return file
                },
                bombs: try Pace.bombs.enumerated().map { index, text in
                    let file = folder.appending(path: "bomb\(index).svg")
                    try Data(text.utf8).write(to: file)
                    return file
                }, codecs: local)
            // The processes and the caches of the file system get warm.
            _ = pace.run(bombCount: 0, seconds: seconds / 4)
            let alone = pace.run(bombCount: 0, seconds: seconds)
            figures.row(alone.cells("alone", comparedTo: alone))
            for count in [1, 2, 4] {
                figures.row(
                    pace.run(bombCount: count, seconds: seconds).cells("beside \(count) at once", comparedTo: alone))
            }
        }
    }

    private struct Pace {
        let photos: [URL]
        let bombs: [URL]
        let codecs: CodecRegistry

        /// Files that take all the time that they are given.
        static let bombs: [String] = [1500, 2000].map { side in
            let gradient = "<radialGradient id=\"g\"><stop stop-color=\"red\"/><stop offset=\"1\"/></radialGradient>"
            let circle = "<circle cx=\"900\" cy=\"900\" r=\"890\" fill=\"url(#g)\" opacity=\".5\"/>"
            return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"\(side)\" height=\"\(side)\">\(gradient)"
                + String(repeating: circle, count: 20_000) + "</svg>"
        }

        struct Outcome {
            var times: [Duration]
            var seconds: Double
            var bombCount: Int
            var residentByteCount: Int
            var decoderByteCount: Int

            func percentile(_ part: Double) -> Duration {
                times.isEmpty ? .zero : times.sorted()[Int(Double(times.count - 1) * part)]
            }

            func cells(_ name: String, comparedTo alone: Self) -> [String] {
                let ratio = percentile(0.99) / alone.percentile(0.99)
                return [
                    name, IsolationBenchmark.text(percentile(0.5)), IsolationBenchmark.text(percentile(0.99)),
                    "\((ratio * 100).rounded() / 100)", "\(Int(Double(times.count) / seconds))", "\(bombCount)",
                    ProcessMemory.mebibytes(residentByteCount), ProcessMemory.mebibytes(decoderByteCount),
                ]
            }
        }

        /// Two loads of photographs at a time, and `bombCount` of hostile files.
        func run(bombCount: Int, seconds: Double) -> Outcome {
            var configuration = WebImageManager.Configuration(
                cache: ImageCache(memory: MemoryCache(configuration: .images), disk: nil))
            configuration.codecs = codecs
            configuration.decodingLimits = .server
            configuration.decodingLimits.processorTime = .seconds(2)
            let manager = WebImageManager(configuration: configuration)
            let times = LockBox<[Duration]>([])
            let (ended, isOver) = (LockBox(0), LockBox(false))
            let (photos, bombs) = (photos, bombs)
            let end = DispatchSemaphore(value: 0)
            let start = ContinuousClock.now
            Task.detached {
                await withTaskGroup(of: Void.self) { group in
                    for task in 0..<bombCount {
                        group.addTask {
                            var request = WebImageRequest(bombs[task % bombs.count])
                            request.cachePolicy = .reload
                            // Bombs of the same file would share one load.
                            request.headers["X-Number"] = "\(task)"
                            while !isOver.withLock({ $0 }) {
                                _ = try? await manager.image(for: request)
                                ended.withLock { $0 += 1 }
                            }
                        }
                    }
                    for task in 0..<2 {
                        group.addTask {
                            var index = task
                            while ContinuousClock.now - start < .seconds(seconds) {
                                var request = WebImageRequest(photos[index % photos.count])
                                request.cachePolicy = .reload
                                request.headers["X-Number"] = "\(task)"
                                index += 1
                                let start = ContinuousClock.now
                                guard (try? await manager.image(for: request)) != nil else { fatalError("no image") }
                                times.withLock { $0.append(ContinuousClock.now - start) }
                            }
                            isOver.withLock { $0 = true }
                        }
                    }
                }
                end.signal()
            }
            var (resident, decoders) = (0, 0)
            while end.wait(timeout: .now() + .milliseconds(50)) == .timedOut {
                resident = max(resident, ProcessMemory(of: getpid()).residentByteCount)
                let inner = ChildProcesses.ofThisProcess.flatMap { [$0] + ChildProcesses.of($0) }
                decoders = max(decoders, inner.map { ProcessMemory(of: $0).residentByteCount }.max() ?? 0)
            }
            return Outcome(
                times: times.withLock { $0 }, seconds: seconds, bombCount: ended.withLock { $0 },
                residentByteCount: resident, decoderByteCount: decoders)
        }
    }
#endif
