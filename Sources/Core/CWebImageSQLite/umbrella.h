#include <sqlite3.h>

// SQLITE_TRANSIENT is a cast that Swift does not import.

static inline int cwi_sqlite_bind_text(sqlite3_stmt *statement, int index, const char *bytes,
                                       sqlite3_uint64 count) {
    return sqlite3_bind_text64(statement, index, bytes ? bytes : "", count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/// No bytes become an empty blob, not NULL.
static inline int cwi_sqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
    return count == 0 ? sqlite3_bind_zeroblob(statement, index, 0)
                      : sqlite3_bind_blob64(statement, index, bytes, count, SQLITE_TRANSIENT);
}

// sqlite3_db_config is variadic.

/// Closing the connection neither copies the log into the database nor deletes it.
static inline void cwi_sqlite_leave_log(sqlite3 *connection) {
    sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}
