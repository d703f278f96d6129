import FoundationEssentials
import Glibc

/// Where a value could live, with an index in SQLite: in a table beside it, in a segment, or in a file of its own.
///
/// Plain system calls, so that it shows the places and not our code: what ``DiskCache`` decides by it is told in
/// Documentation/Decisions.md.
enum ValuePlaces {
    private enum Place: String, CaseIterable {
        case table, segment, file
    }

    static func compare(isQuick: Bool) throws {
        for fileSystem in BenchmarkFileSystem.all {
            print("\nPlaces of values, \(fileSystem.name): µs for one")
            let names = Place.allCases.map(\.rawValue)
            let table = FigureTable(columns: [""] + names.map { "set, \($0)" } + names.map { "get, \($0)" })
            for byteCount in [1_000, 4_000, 20_000, 100_000, 1_000_000] {
                let count = min(isQuick ? 100 : 4_000, ((isQuick ? 4 : 100) << 20) / byteCount)
                let entries = DiskEntries(count: count, byteCounts: byteCount...byteCount)
                var times = [Place: (sets: [Double], gets: [Double])]()
                for _ in 0..<(isQuick ? 1 : 5) {
                    for place in Place.allCases {
                        let (set, get) = try fileSystem.withDirectory { directory in
                            try Store(place, directory: directory, segmentSize: count * byteCount).measure(entries)
                        }
                        times[place, default: ([], [])].sets.append(set / .microseconds(1) / Double(count))
                        times[place, default: ([], [])].gets.append(get / .microseconds(1) / Double(count))
                    }
                    sync()
                }
                func cells(_ figures: ((sets: [Double], gets: [Double])) -> [Double]) -> [String] {
                    Place.allCases.map { place in
                        let sorted = figures(times[place] ?? ([], [])).sorted()
                        return "\((sorted[sorted.count / 2] * 10).rounded() / 10)"
                    }
                }
                table.row(["\(byteCount / 1_000) KB"] + cells(\.sets) + cells(\.gets))
            }
        }
    }

    private final class Store {
        private let place: Place
        private let directory: String
        private let segment: Int32
        private let connection: BareSQLite
        private let begin, commit, insert, insertValue, select, selectValue: BareSQLite.Statement

        init(_ place: Place, directory: String, segmentSize: Int) throws {
            self.place = place
            self.directory = directory
            segment = open(directory + "/segment", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            connection = try BareSQLite(path: directory + "/index.sqlite")
            try connection.run(
                """
                PRAGMA page_size = 16384; PRAGMA journal_mode = WAL;
                CREATE TABLE entry (id INTEGER PRIMARY KEY, hash INTEGER NOT NULL, key TEXT NOT NULL,
                    offset INTEGER, size INTEGER);
                CREATE UNIQUE INDEX entry_by_hash ON entry (hash);
                CREATE TABLE value (id INTEGER PRIMARY KEY, data BLOB)
                """)
            begin = try connection.prepare("BEGIN IMMEDIATE")
            commit = try connection.prepare("COMMIT")
            insert = try connection.prepare("INSERT INTO entry (hash, key, offset, size, id) VALUES (?, ?, ?, ?, ?)")
            insertValue = try connection.prepare("INSERT INTO value (id, data) VALUES (?, ?)")
            select = try connection.prepare("SELECT offset, size FROM entry WHERE hash = ? AND key = ?")
            selectValue = try connection.prepare(
                "SELECT data FROM entry JOIN value ON value.id = entry.id WHERE hash = ? AND key = ?")
        }

        deinit { close(segment) }

        func measure(_ entries: DiskEntries) throws -> (set: Duration, get: Duration) {
            let clock = ContinuousClock()
            let set = try clock.measure {
                for part in (0..<entries.count).parts(of: DiskContender.batchCount) { try write(part, of: entries) }
            }
            let buffer = UnsafeMutableRawBufferPointer.allocate(
                byteCount: entries.byteCounts.upperBound, alignment: 16)
            defer { buffer.deallocate() }
            let get = try clock.measure {
                for place in entries.shuffledPlaces {
                    guard let count = try read(entries.keys[place], into: buffer),
                        entries.accepts(UnsafeRawBufferPointer(rebasing: buffer[..<count]), as: place)
                    else { throw WrongResult(description: "a wrong value in a \(self.place)") }
                }
            }
            return (set, get)
        }

        private func write(_ places: Range<Int>, of entries: DiskEntries) throws {
            try begin.run()
            var offset = Int(lseek(segment, 0, SEEK_END))
            for place in places {
                let size = entries.byteCount(of: place)
                insert.bindKey(entries.keys[place])
                insert.bind(Int64(self.place == .segment ? offset : place), at: 3)
                insert.bind(Int64(size), at: 4)
                insert.bind(Int64(place + 1), at: 5)
                try insert.run()
                try entries.value(place, generation: 0).withUnsafeBytes { bytes in
                    switch self.place {
                    case .table:
                        insertValue.bind(Int64(place + 1), at: 1)
                        insertValue.bind(bytes, at: 2)
                        try insertValue.run()
                    case .segment:
                        guard pwrite(segment, bytes.baseAddress, size, off_t(offset)) == size else {
                            throw WrongResult(description: "errno \(errno)")
                        }
                        offset += size
                    case .file:
                        let file = open("\(directory)/\(place)", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
                        defer { close(file) }
                        guard Glibc.write(file, bytes.baseAddress, size) == size else {
                            throw WrongResult(description: "errno \(errno)")
                        }
                    }
                }
            }
            try commit.run()
        }

        private func read(_ key: String, into buffer: UnsafeMutableRawBufferPointer) throws -> Int? {
            if place == .table {
                selectValue.bindKey(key)
                return try selectValue.first { bytes in
                    buffer.copyMemory(from: bytes)
                    return bytes.count
                }
            }
            select.bindKey(key)
            guard let (offset, size) = try select.firstNumbers() else { return nil }
            if place == .segment { return pread(segment, buffer.baseAddress, Int(size), off_t(offset)) }
            let file = open("\(directory)/\(offset)", O_RDONLY | O_CLOEXEC)
            defer { close(file) }
            return Glibc.read(file, buffer.baseAddress, Int(size))
        }
    }
}
