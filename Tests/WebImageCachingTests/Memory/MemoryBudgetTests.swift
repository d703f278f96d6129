import Testing
import WebImageCaching

@Suite struct MemoryBudgetTests {
    @Test func defaultsToAFifthOfTheMemoryAndAGibibyteAtMost() {
        let cost = MemoryBudget.defaultImageCost()
        #expect(cost > 0)
        #expect(cost <= 1 << 30)
    }
}
