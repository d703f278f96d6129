import CWebImageLibrary
import Testing

/// Libraries that are loaded when they are needed.
@Suite(.timeLimit(.minutes(1))) struct LibraryTests {
    /// Loads files, looks functions up, and returns the addresses, or why the library cannot be used.
    private func load(_ files: [StaticString], _ names: [StaticString]) -> (
        addresses: [UnsafeMutableRawPointer?], problem: String?
    ) {
        let addresses = UnsafeMutablePointer<UnsafeMutableRawPointer?>.allocate(capacity: names.count)
        addresses.initialize(repeating: nil, count: names.count)
        defer { addresses.deallocate() }
        func text(_ text: StaticString) -> UnsafePointer<CChar> {
            UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
        }
        var functions = names.enumerated().map { cwi_function(name: text($1), address: addresses + $0) }
        functions.append(cwi_function(name: nil, address: nil))
        return functions.withUnsafeBufferPointer { functions in
            var library = cwi_library()
            library.files = (text(files[0]), files.count > 1 ? text(files[1]) : nil)
            library.package = text("libexample1")
            library.functions = functions.baseAddress
            let isLoaded = cwi_library_load(&library)
            // The result is that of the first time.
            library.files = (text("libabsent.so.1"), nil)
            #expect(cwi_library_load(&library) == isLoaded)
            let problem = withUnsafeBytes(of: library.problem) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            return (names.indices.map { addresses[$0] }, isLoaded ? nil : problem)
        }
    }

    @Test func functionsOfTwoFilesAreFound() {
        let (addresses, problem) = load(["libc.so.6", "libm.so.6"], ["strlen", "cos"])
        #expect(problem == nil)
        #expect(addresses.allSatisfy { $0 != nil })
    }

    @Test(arguments: [["libabsent.so.1"], ["libc.so.6", "libabsent.so.1"]] as [[StaticString]])
    func withoutAFileTheProblemNamesItAndThePackage(files: [StaticString]) {
        let problem = load(files, ["strlen"]).problem
        #expect(problem?.hasPrefix("libabsent.so.1: ") == true)
        #expect(problem?.hasSuffix(" (install libexample1)") == true)
    }

    @Test func withoutAFunctionTheProblemNamesIt() {
        let problem = load(["libc.so.6"], ["strlen", "absent_function", "strcmp"]).problem
        #expect(problem == "libc.so.6 has no absent_function (install libexample1)")
    }
}
