internal import Dispatch
internal import Glibc
internal import WebImageCore

/// The life of processes without work: they rest, and end after a while.
extension DecoderPool {
    /// Starts the thread that ends processes without work. A timer of Dispatch would need descriptors, and Dispatch ends a program that has closed
    /// them.
    func startCleaning(_ state: inout State) {
        guard state.cleaning == nil else { return }
        let (end, period) = (DispatchSemaphore(value: 0), min(Self.restPeriod, configuration.idlePeriod))
        let isStarted = PlatformThread.start(name: "webimage-idle") { [weak self] in
            var wait = period
            while end.wait(timeout: .now() + .nanoseconds(Int(wait.nanoseconds))) == .timedOut,
                let next = self?.clean()
            {
                wait = next
            }
        }
        if isStarted { state.cleaning = end }
    }

    /// After how long without work a process gives back the memory that it took.
    private static let restPeriod = Duration.seconds(1)

    /// Lets the processes rest that had no work for a moment, and ends those that had none for a while. Returns when to look again;
    /// `nil` if none is left.
    private func clean() -> Duration? {
        let now = SystemTimerClock.shared.now
        let (ended, tired) = changeState { state -> ([DecoderProcess], [DecoderProcess]) in
            guard state.owner == getpid() else { return ([], []) }
            let isEnding = {
                [period = configuration.idlePeriod, ready = readyProcess(state)] (process: DecoderProcess) in
                process !== ready && process.idleSince + period <= now
            }
            let isTired = { (process: DecoderProcess) in
                !process.isRested && process.idleSince + Self.restPeriod <= now
            }
            let ended = state.idle.filter(isEnding)
            state.idle.removeAll(where: isEnding)
            return (ended, takeIdle(&state, where: isTired))
        }
        for process in ended { process.end() }
        rest(tired)
        return state.withLock { state in
            guard state.owner == getpid() else { return nil }
            let ready = readyProcess(state)
            let idle = state.idle.compactMap { process -> Duration? in
                if !process.isRested { return process.idleSince + Self.restPeriod - now }
                return process === ready ? nil : process.idleSince + configuration.idlePeriod - now
            }
            let isWorking = state.busyCount + state.slowCount + state.suspended.count > 0
            guard let next = (idle + (isWorking ? [Self.restPeriod] : [])).min() else {
                state.cleaning = nil
                return nil
            }
            return max(next, .milliseconds(1))
        }
    }

    /// The idle process that is kept ready, if the configuration keeps one.
    func readyProcess(_ state: State) -> DecoderProcess? {
        state.idle.last { $0.kind == readyKind }
    }

    /// Lets all processes rest that have no work now, for tests.
    func restIdleProcesses() { rest(state.withLock { takeIdle(&$0) { _ in true } }) }

    private func takeIdle(_ state: inout State, where isTaken: (DecoderProcess) -> Bool) -> [DecoderProcess] {
        let taken = state.idle.filter(isTaken)
        state.idle.removeAll(where: isTaken)
        state.busy += taken.map(\.kind)
        return taken
    }

    private func rest(_ processes: [DecoderProcess]) {
        for process in processes {
            process.rest()
            giveBack(process, idleSince: process.idleSince)
        }
    }

    /// Ends the processes that have no work now.
    func endIdleProcesses() {
        let ended = state.withLock { state in
            defer { state.idle = [] }
            return state.idle
        }
        for process in ended { process.end() }
    }

    /// After a fork the processes are the parent's.
    func leaveParent() {
        let forgotten = state.withLock { state -> [DecoderProcess] in
            guard state.owner != getpid() else { return [] }
            defer { state = State() }
            return state.idle
        }
        for process in forgotten { process.forget() }
    }
}
