import BenchmarkReport
import CWebImageGTK
import Glibc

// xvfb-run -a env GSK_RENDERER=cairo swift run -c release GTKBenchmarks [group …]; all groups without a name.
let groups = BenchmarkGroup.named(on: CommandLine.arguments, among: [.views])
guard gtk_init_check() != 0 else {
    print("GTKBenchmarks needs a display: run it under xvfb-run.")
    exit(1)
}
var table = BenchmarkTable()
for group in groups { try group.run(&table) }
