import BenchmarkReport
import CWebImageGTK
import Glibc

// xvfb-run -a env GSK_RENDERER=cairo swift run -c release GTKBenchmarks [group …]; all groups without a name.
let groups: [BenchmarkGroup] = [.views]

let names = CommandLine.arguments.dropFirst()
// Groups of the other program come here too: `make bench GROUP=…` runs both.
guard names.isEmpty || groups.contains(where: { names.contains($0.name) }) else { exit(0) }
guard gtk_init_check() != 0 else {
    print("GTKBenchmarks needs a display: run it under xvfb-run.")
    exit(1)
}
var table = BenchmarkTable()
for group in groups where names.isEmpty || names.contains(group.name) { try group.run(&table) }
