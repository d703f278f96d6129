import CWebImageBenchmarkPeers
import FoundationEssentials
import Glibc

/// A tree in a memory map. Like the others it does not sync each transaction to the disk.
final class LMDBStore: DiskStore, @unchecked Sendable {
    // `@unchecked`: an environment is for all threads; they start transactions of their own.
    private let environment: OpaquePointer
    private let table: MDB_dbi

    init(directory: String) throws {
        mkdir(directory, 0o700)
        var environment: OpaquePointer?
        mdb_env_create(&environment)
        mdb_env_set_mapsize(environment, 8 << 30)
        guard let environment, mdb_env_open(environment, directory, UInt32(MDB_NOSYNC), 0o600) == 0 else {
            throw WrongResult(description: "LMDB does not open \(directory)")
        }
        var (transaction, table) = (OpaquePointer?.none, MDB_dbi())
        mdb_txn_begin(environment, nil, 0, &transaction)
        mdb_dbi_open(transaction, nil, 0, &table)
        mdb_txn_commit(transaction)
        (self.environment, self.table) = (environment, table)
    }

    deinit { mdb_env_close(environment) }

    func session() -> any DiskSession { LMDBSession(store: self, environment: environment, table: table) }
}

private final class LMDBSession: DiskSession {
    private let store: LMDBStore
    private let environment: OpaquePointer
    private let table: MDB_dbi
    /// Renewed for each look-up, which is cheaper than a new one.
    private var reading: OpaquePointer?

    init(store: LMDBStore, environment: OpaquePointer, table: MDB_dbi) {
        (self.store, self.environment, self.table) = (store, environment, table)
    }

    deinit { if let reading { mdb_txn_abort(reading) } }

    private func write(_ places: Range<Int>, _ change: (OpaquePointer?, Int) -> Int32) throws {
        for part in places.parts(of: DiskContender.batchCount) {
            var transaction: OpaquePointer?
            var status = mdb_txn_begin(environment, nil, 0, &transaction)
            for place in part where status == 0 { status = change(transaction, place) }
            guard status == 0, mdb_txn_commit(transaction) == 0 else {
                throw WrongResult(description: "LMDB fails: \(status)")
            }
        }
    }

    private func withKey<Result>(_ key: String, _ body: (UnsafeMutablePointer<MDB_val>) -> Result) -> Result {
        var key = key
        return key.withUTF8 { utf8 in
            var value = MDB_val(mv_size: utf8.count, mv_data: UnsafeMutableRawPointer(mutating: utf8.baseAddress))
            return body(&value)
        }
    }

    func set(_ places: Range<Int>, of entries: DiskEntries, generation: Int) throws {
        try write(places) { transaction, place in
            withKey(entries.keys[place]) { key in
                entries.value(place, generation: generation).withUnsafeBytes { bytes in
                    var value = MDB_val(
                        mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
                    return mdb_put(transaction, table, key, &value, 0)
                }
            }
        }
    }

    func remove(_ places: Range<Int>, of entries: DiskEntries) throws {
        try write(places) { transaction, place in
            withKey(entries.keys[place]) { mdb_del(transaction, table, $0, nil) }
        }
    }

    func get<Result>(_ key: String, byteCount: Int, _ body: (UnsafeRawBufferPointer) -> Result) throws -> Result? {
        if let reading {
            mdb_txn_renew(reading)
        } else {
            mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &reading)
        }
        defer { mdb_txn_reset(reading) }
        return withKey(key) { key in
            var value = MDB_val()
            guard mdb_get(reading, table, key, &value) == 0 else { return nil }
            // The caller keeps the bytes.
            let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: value.mv_size, alignment: 16)
            defer { copy.deallocate() }
            copy.copyMemory(from: UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size))
            return body(UnsafeRawBufferPointer(copy))
        }
    }
}
