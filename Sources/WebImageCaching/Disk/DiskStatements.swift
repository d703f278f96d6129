/// The statements of the connection that writes, prepared once.
struct DiskStatements {
    let readTotals, writeTotals: SQLiteStatement
    let find, findByID, findFirst, findExpired, findInSegment, findBefore: SQLiteStatement
    let insert, insertAttachment, delete, deleteAttachment, noteAccess, noteAccessByHash, move, update: SQLiteStatement
    let times, shiftTimes: SQLiteStatement
    let insertSegment, segmentSize, changeSegment, setSegmentSize, findEmpty, deleteSegment, findSparse: SQLiteStatement

    /// - Parameter order: what goes first when something has to.
    init(_ connection: SQLiteConnection, order: DiskCache.EvictionOrder) throws(DiskFault) {
        let (row, time) = (DiskIndex.Row.columns, order.column)
        readTotals = try connection.prepare(
            "SELECT next_id, count, size, trimmed, segment, next_segment, hits, misses, evictions FROM cache")
        writeTotals = try connection.prepare(
            """
            UPDATE cache SET next_id = ?, count = ?, size = ?, trimmed = ?, segment = ?, next_segment = ?, hits = ?,
            misses = ?, evictions = ?
            """)
        find = try connection.prepare("SELECT \(row), key FROM entry WHERE hash = ?")
        findByID = try connection.prepare("SELECT \(row) FROM entry WHERE id = ?")
        findFirst = try connection.prepare("SELECT \(row), \(time) FROM entry ORDER BY \(time), id LIMIT ?")
        findExpired = try connection.prepare("SELECT \(row) FROM entry WHERE expires <= ? ORDER BY expires LIMIT ?")
        findInSegment = try connection.prepare("SELECT \(row) FROM entry WHERE segment = ? LIMIT ?")
        findBefore = try connection.prepare("SELECT \(row) FROM entry WHERE id < ? ORDER BY id LIMIT ?")
        insert = try connection.prepare(
            """
            INSERT INTO entry (id, hash, size, segment, offset, checksum, created, modified, accessed, expires, lifetime,
            attached, key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        insertAttachment = try connection.prepare("REPLACE INTO attachment (id, extended, metadata) VALUES (?, ?, ?)")
        delete = try connection.prepare("DELETE FROM entry WHERE id = ?")
        deleteAttachment = try connection.prepare("DELETE FROM attachment WHERE id = ?")
        // `max` of two is NULL when one is: an entry without an end stays so.
        noteAccess = try connection.prepare(
            "UPDATE entry SET accessed = max(accessed, ?2), expires = max(expires, ifnull(?3, expires)) WHERE id = ?1")
        noteAccessByHash = try connection.prepare(
            "UPDATE entry SET accessed = max(accessed, ?2), expires = max(expires, ifnull(?3, expires)) WHERE hash = ?1"
        )
        move = try connection.prepare("UPDATE entry SET segment = ?2, offset = ?3 WHERE id = ?1")
        update = try connection.prepare(
            "UPDATE entry SET modified = max(modified, ?2), expires = ?3, lifetime = ?4, attached = ?5 WHERE id = ?1")
        // In one query for both, SQLite would walk through all rows.
        times = try connection.prepare("SELECT (SELECT min(\(time)) FROM entry), (SELECT max(\(time)) FROM entry)")
        let others = DiskCache.EvictionOrder.allCases.filter { $0 != order }.map(\.column)
        shiftTimes = try connection.prepare(
            """
            UPDATE entry SET \(time) = \(time) + ?2, \(others.map { "\($0) = min(\($0), ?3)" }.joined(separator: ", ")),
            expires = min(expires, ifnull(?3 + lifetime, expires)) WHERE \(time) > ?1
            """)

        insertSegment = try connection.prepare("INSERT INTO segment VALUES (?, 0, 0, 0)")
        segmentSize = try connection.prepare("SELECT size FROM segment WHERE number = ?")
        changeSegment = try connection.prepare(
            "UPDATE segment SET live_count = live_count + ?2, live_size = live_size + ?3 WHERE number = ?1")
        setSegmentSize = try connection.prepare("UPDATE segment SET size = ?2 WHERE number = ?1")
        findEmpty = try connection.prepare("SELECT 1 FROM segment WHERE number = ? AND live_count <= 0")
        deleteSegment = try connection.prepare("DELETE FROM segment WHERE number = ?")
        findSparse = try connection.prepare(
            "SELECT number FROM segment WHERE number <> ? AND live_size < size / 2 ORDER BY live_size LIMIT 1")
    }
}
