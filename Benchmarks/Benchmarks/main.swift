// swift run -c release Benchmarks [group …]; all groups without a name. It runs itself for what takes a second process.
try ReadBack.runIfAsked(CommandLine.arguments)
try MillionEntries.runIfAsked(CommandLine.arguments)
try WebPictureClient.runIfAsked(CommandLine.arguments)
var known: [BenchmarkGroup] = [
    .memoryCache, .diskCache, .valuePlaces, .millionEntries, .coding, .encoding, .color, .geometry, .processing,
    .pipeline, .requests, .webPictures, .shared, .isolation, .animation, .playingAnimation,
]
#if WEBIMAGE_SERVER
    known.append(.service)
#endif
let groups = BenchmarkGroup.named(on: CommandLine.arguments, among: known)
var table = BenchmarkTable()
for group in groups { try group.run(&table) }
