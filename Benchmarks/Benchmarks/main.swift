import FoundationEssentials
import Glibc

// swift run -c release Benchmarks [group …]; all groups without a name.
let groups: [BenchmarkGroup] = [.memoryCache, .coding]

let names = CommandLine.arguments.dropFirst()
let unknown = names.filter { name in !groups.contains { $0.name == name } }
guard unknown.isEmpty else {
    print("No group \(unknown.joined(separator: ", ")); there are \(groups.map(\.name).joined(separator: ", ")).")
    exit(2)
}
var table = BenchmarkTable()
for group in groups where names.isEmpty || names.contains(group.name) { try group.run(&table) }
