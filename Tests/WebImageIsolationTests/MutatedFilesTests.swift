import Glibc
import Testing

@testable import WebImageIsolation

/// Damaged files in other processes; `make mutations` decodes far more of them.
@Suite(.timeLimit(.minutes(5))) struct MutatedFilesTests {
    @Test func damagedFilesLeaveNothingBehind() throws {
        let folder = (DecoderLocation.programPath ?? "").split(separator: "/").dropLast().reduce(into: "") {
            $0 += "/\($1)"
        }
        let stream = try #require(popen("exec timeout 240 \(folder)/MutatedFiles 400 7 2>&1", "re"))
        var output = ""
        var buffer = [CChar](repeating: 0, count: 4096)
        while fgets(&buffer, Int32(buffer.count), stream) != nil {
            output += String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
        #expect(pclose(stream) == 0, "\(output)")
        #expect(output.contains("images, of which"), "\(output)")
    }
}
