import BenchmarkSupport
import CWebImageGTK
import Glibc

// xvfb-run -a env GSK_RENDERER=cairo swift run -c release GTKBenchmarks [group …]; all groups without a name. QUICK=1
// in the environment makes it short. It runs itself, as "--part name …", for parts that are measured in its own
// process.
if CommandLine.arguments.dropFirst().first == "--part" {
    MeasuredPart.run(Array(CommandLine.arguments.dropFirst(2)))
}
let groups = BenchmarkGroup.named(
    on: CommandLine.arguments, among: BenchmarkGroup.views(isQuick: getenv("QUICK") != nil))
guard gtk_init_check() != 0 else {
    print("GTKBenchmarks needs a display: run it under xvfb-run.")
    exit(1)
}
do {
    var table = BenchmarkTable()
    for group in groups { try group.run(&table) }
} catch {
    print(error)
    exit(1)
}
