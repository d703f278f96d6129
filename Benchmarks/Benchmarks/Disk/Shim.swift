import Dispatch
import FoundationEssentials
import WebImageCaching
import WebImageCore
extension DiskCache {
    func cachedData(for key: String) -> Data? {
        let done = DispatchSemaphore(value: 0)
        let result = Lock<Data?>(nil)
        load(key, priority: .normal) { data in
            result.withLock { $0 = data }; done.signal()
        }
        done.wait()
        return result.withLock { $0 }
    }
    func waitUntilWritten() {
        let done = DispatchSemaphore(value: 0)
        Task.detached {
            _ = await self.count; done.signal()
        }
        done.wait()
    }
}
