import FoundationEssentials
import WebImage
import WebImageTestSupport

/// Images from a real nginx, and some from a server that does not keep what it promises.
final class StressServers: StressSource {
    private let server: NGINXServer
    private let faults: FaultServer
    private let files: TemporaryDirectory
    private let downloader: ImageDownloader
    private let bodies: [Data]

    init() throws {
        files = try TemporaryDirectory()
        bodies = try (0..<StressPlan.numberCount).map { try StressPicture(number: $0, edition: 0).data() }
        for (number, body) in bodies.enumerated() { try files.write(body, to: "\(number).png") }
        server = try NGINXServer(root: files.path)
        faults = try FaultServer()
        var configuration = ImageDownloader.Configuration()
        configuration.proxy = .none
        configuration.maximumConnectionsPerHost = 12
        downloader = ImageDownloader(configuration: configuration)
    }

    var loader: any ImageLoader { downloader }

    func url(_ number: Int) throws -> URL {
        guard !isSound(number) else { return try server.url("/\(number).png") }
        let behaviours = [
            "cut-body/%.png?size=3000&sent=500", "reset-body/%.png?size=3000&sent=500", "html/%.png",
            "status/%.png?code=503", "stall-body/%.png?size=3000&sent=500", "cut-chunked/%.png?sent=500",
        ]
        return try faults.url("/" + behaviours[number / 8 % behaviours.count].replacing("%", with: "\(number)"))
    }

    func isSound(_ number: Int) -> Bool { number % 8 != 7 }
    func isForbidden(_ number: Int) -> Bool { false }
    func mayBeCutUnnoticed(_ number: Int) -> Bool { false }
    func neverEnds(_ number: Int) -> Bool { !isSound(number) && number / 8 % 6 == 4 }

    func publish(_ number: Int) {}
    func hasSent(_ number: Int, edition: Int) -> Bool { isSound(number) && edition == 0 }
    func hasSent(_ data: Data, as number: Int, edition: Int?) -> Bool { isSound(number) && bodies[number] == data }

    var stalledNumbers: Set<Int> { Set((0..<StressPlan.numberCount).filter(neverEnds)) }
    func setMayStall(_ mayStall: Bool) {}
    func settle() async throws {}
    var runningCount: Int { downloader.currentDownloadCount }
}
