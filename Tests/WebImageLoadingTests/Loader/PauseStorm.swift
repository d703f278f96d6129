@testable import WebImageCore
import FoundationEssentials
import Testing
import WebImageLoading
import WebImageTestSupport

/// Pauses and resumes loads from several threads, cancels a quarter of them, and lets the rest go on.
func storm(_ loads: [(recording: LoadRecording, task: any LoaderTask)], expecting body: Data) async throws {
    await withTaskGroup(of: Void.self) { group in
        for seed in 0..<4 {
            group.addTask {
                var random = SplitMix64(seed: UInt64(seed))
                for _ in 0..<3000 {
                    let task = loads[Int.random(in: 0..<loads.count, using: &random)].task
                    if Bool.random(using: &random) { task.pause() } else { task.resume() }
                }
            }
        }
    }
    for (number, load) in loads.enumerated() where number % 4 == 3 { load.task.cancel() }
    for load in loads { load.task.resume() }
    for (number, load) in loads.enumerated() {
        if let error = try await load.recording.error() {
            #expect(error == .cancelled && number % 4 == 3)
        } else {
            #expect(try await load.recording.body() == body)
        }
    }
    #expect(loads.allSatisfy { $0.recording.isInOrder })
}
