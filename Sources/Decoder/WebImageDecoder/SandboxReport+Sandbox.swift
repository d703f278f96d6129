internal import CWebImageSandbox
internal import WebImageIsolation

extension SandboxReport {
    init(entered report: cwi_sandbox_report) {
        self.init(layers: [], errors: [:])
        withUnsafeBytes(of: report.errors) { bytes in
            let errors = bytes.bindMemory(to: Int32.self)
            for (index, layer) in SandboxLayer.allCases.enumerated() {
                if report.active & 1 << UInt32(index) != 0 {
                    layers.insert(layer)
                } else {
                    self.errors[layer] = errors[index]
                }
            }
        }
    }
}
