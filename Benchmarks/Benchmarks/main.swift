// swift run -c release Benchmarks [group …]; all groups without a name.
let groups = BenchmarkGroup.named(on: CommandLine.arguments, among: [.memoryCache, .coding, .color, .animation])
var table = BenchmarkTable()
for group in groups { try group.run(&table) }
