import WebImageCore

/// Notes what a piece of work does. Notes are facts, which become text only when the trace is read.
///
/// Work that waits for other work includes its notes, which may still grow:
///
/// ```
///  image, 200 px ─┐
///                 ├─includes─► bytes
///  image, whole ──┘
/// ```
final class TraceRecorder: Sendable {
    private struct Note {
        let stage: LoadTrace.Stage
        let start: ContinuousClock.Instant
        let end: ContinuousClock.Instant
        let fact: TraceFact
    }

    private struct State {
        var notes: [Note] = []
        var included: [TraceRecorder] = []
    }

    private let state = Lock(State())

    /// Notes what has just happened, or has lasted since `start`.
    func note(_ stage: LoadTrace.Stage, since start: ContinuousClock.Instant? = nil, _ fact: TraceFact) {
        let end = ContinuousClock.now
        state.withLock { state in
            // Most work has no more notes.
            if state.notes.isEmpty { state.notes.reserveCapacity(3) }
            state.notes.append(Note(stage: stage, start: start ?? end, end: end, fact: fact))
        }
    }

    /// Includes all notes of `other`, also later ones.
    func include(_ other: TraceRecorder) { state.withLock { $0.included.append(other) } }

    /// Returns everything noted so far.
    ///
    /// - Parameter start: the zero of all times.
    func trace(from start: ContinuousClock.Instant) -> LoadTrace {
        let entries = allNotes.sorted { $0.start < $1.start }.map { note in
            LoadTrace.Entry(
                stage: note.stage, start: start.duration(to: note.start).inExactSeconds,
                duration: note.start.duration(to: note.end).inExactSeconds, message: note.fact.description)
        }
        return LoadTrace(entries: entries)
    }

    private var allNotes: [Note] {
        let state = state.withLock { $0 }
        return state.included.reduce(into: state.notes) { $0 += $1.allNotes }
    }
}
