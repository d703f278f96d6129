import WebImageCore
import WebImageLoading

extension Pipeline {
    /// Begins to load `request`, as often and at as many URLs as the context allows; the step that is busy with it.
    ///
    /// - Parameter makeReceiver: gives each attempt who takes its bytes.
    func attempts(
        at request: LoaderRequest, _ context: LoadContext, for work: SharedWork<LoadedBytes>, priority: LoadPriority,
        makeReceiver: @escaping AttemptLoop.MakeReceiver
    ) -> AttemptLoop {
        let plan = AttemptPlan(
            request, loader: resuming(context.loader, for: context), options: context.attemptOptions
        ) { url in
            // Of a URL that no loader takes, the group tells why.
            resuming(loaders.loader(for: url) ?? loaders, for: context)
        }
        let failure = Lock<(time: ContinuousClock.Instant, attempts: [LoadAttempt])?>(nil)
        let loop = AttemptLoop(
            plan, in: self.attempts, priority: priority,
            makeReceiver: { source, number in
                if let (time, attempts) = failure.withLock({ $0.take() }) {
                    work.trace.note(.retry, since: time, .triedAgain(attempts))
                }
                return makeReceiver(source, number)
            }
        ) { attempts in
            work.report(attempts)
            guard attempts.isAtStartOfAnother else { return }
            failure.withLock { $0 = (.now, attempts) }
            work.report(LoadProgress(received: 0, expected: nil, attempt: attempts.count))
        }
        return loop.started()
    }
}
