import BenchmarkSupport
import FoundationEssentials
import Glibc

// swift run -c release TransportBenchmarks [group …]; all groups without a name. QUICK=1 in the environment makes it
// short. It runs itself with --client for the downloader's part.
if CommandLine.arguments.dropFirst().first == "--client" {
    let arguments = CommandLine.arguments.dropFirst(2)
    guard let client = TransportClient(arguments.prefix(3)) else { exit(2) }
    client.runWithDownloader(authority: arguments.dropFirst(3).first)
}
let groups = [BenchmarkGroup.transport(isQuick: getenv("QUICK") != nil)]
let names = CommandLine.arguments.dropFirst()
var table = BenchmarkTable(printsHeader: false)
do {
    for group in groups where names.isEmpty || names.contains(group.name) { try group.run(&table) }
} catch {
    print(error)
    exit(1)
}
