import FoundationEssentials
import Glibc
import WebImageCoding
import WebImageCore
import WebImageIsolation
import WebImageTestSupport

#if WEBIMAGE_FORMATS
    import WebImageFormats
#endif

// Decodes files with random damage in other processes, and checks that nothing of it reaches this one. Only for tests.
//
//     MutatedFiles COUNT [SEED [DIRECTORY]]     the directory gets the files that ended a process
//
// The status is 0 if each file was an image or an error, and if no process, descriptor or mapping and no memory remained.

let arguments = CommandLine.arguments.dropFirst()
guard let count = arguments.first.flatMap(Int.init), count > 0 else {
    print("usage: MutatedFiles COUNT [SEED [DIRECTORY]]")
    exit(2)
}
let seed = arguments.dropFirst().first.flatMap(UInt64.init) ?? 1
let keptDirectory = arguments.dropFirst(2).first

#if WEBIMAGE_FORMATS
    let local = FormatLibraries.registry()
#else
    let local = CodecRegistry()
#endif
let files = try SeedFiles.all(local)
let isolation = IsolatedDecoding()
let exercise = Exercise(
    registry: local.isolated(by: .allFormats, in: isolation), files: files, keptDirectory: keptDirectory)
if let problem = isolation.blockingStatus.problem {
    print("no decoder process: \(problem)")
    exit(2)
}

/// What must not grow.
struct Remains {
    let descriptorCount = (0..<1024).count { fcntl($0, F_GETFD) >= 0 }
    let childCount = ChildProcesses.ofThisProcess.count
    let mappingCount = ((try? String(contentsOfFile: "/proc/self/maps", encoding: .utf8)) ?? "").split(separator: "\n")
        .count
    let memory = ProcessMemory()

    var text: String {
        let resident = memory.residentByteCount >> 20
        return
            "\(descriptorCount) descriptors, \(childCount) child processes, \(mappingCount) mappings, RSS \(resident) MiB"
    }
}

func remains() -> Remains {
    // Other threads may be starting one that no image needs any more, letting one rest, or ending one.
    let deadline = ContinuousClock.now + .seconds(10)
    repeat {
        isolation.endIdleProcesses()
        usleep(1000)
    } while !ChildProcesses.ofThisProcess.isEmpty && ContinuousClock.now < deadline
    PixelBufferPool.shared.removeAll()
    return Remains()
}

let start = ContinuousClock.now
let warmUpCount = max(count / 10, min(count, 100))
exercise.run(0..<warmUpCount, seed: seed)
let before = remains()
exercise.run(warmUpCount..<max(count, warmUpCount + 1), seed: seed)
let after = remains()
let seconds = (ContinuousClock.now - start) / .seconds(1)

print(exercise.outcomes.withLock { $0.text })
let counters = isolation.blockingStatus.counters
print("processes: \(counters.startedProcessCount) started, \(counters.failures.values.reduce(0, +)) failed")
print("after \(warmUpCount): \(before.text)")
print("after \(count): \(after.text)")
print("\(files.count) seeds, seed \(seed), \(Int(seconds)) s")

let growth = after.memory.residentByteCount - before.memory.residentByteCount
var problems: [String] = []
if after.descriptorCount > before.descriptorCount { problems.append("descriptors remain") }
if after.childCount > 0 { problems.append("processes remain") }
if growth > 32 << 20 { problems.append("memory remains") }
// Arenas of malloc come and go.
if after.mappingCount > before.mappingCount + 64 { problems.append("mappings remain") }
if exercise.outcomes.withLock({ $0.hasNoImage }) { problems.append("no file was an image: the seeds are wrong") }
for problem in problems { print("PROBLEM: \(problem)") }
exit(problems.isEmpty ? 0 : 1)
