internal import CWebImageGTK
internal import WebImage

extension ImageTransition {
    /// One picture fades into the other; 0.2 s, as in YYWebImage.
    public static let fade = ImageTransition.fade(duration: .milliseconds(200))

    /// What previews fade with: 0.4 s, as in YYWebImage.
    public static let previewFade = ImageTransition.fade(duration: .milliseconds(400))

    /// One picture fades into the other, evenly.
    public static func fade(duration: Duration) -> ImageTransition {
        ImageTransition(duration: duration, timing: .linear) { frame in
            frame.crossFade(frame.progress, { frame.drawOld() }, { frame.drawNew() })
        }
    }

    /// The picture turns over like a card, about the axis through its middle; the edge named comes forward first.
    public static func flip(from edge: TransitionEdge, duration: Duration = .milliseconds(500)) -> ImageTransition {
        ImageTransition(duration: duration) { frame in
            let edge = edge.resolved(isRightToLeft: frame.isRightToLeft)
            // The old side turns away by a quarter, then the new one comes from a quarter on the other side.
            let isFirstHalf = frame.progress < 0.5
            let quarters = isFirstHalf ? frame.progress * 2 : frame.progress * 2 - 2
            let sign: Double = edge == .left || edge == .top ? 1 : -1
            frame.drawTurned(byQuarters: quarters * sign, isVertical: edge == .top || edge == .bottom) {
                if isFirstHalf { frame.drawOld() } else { frame.drawNew() }
            }
        }
    }

    /// The new picture comes in from an edge and pushes the old one out.
    public static func slide(from edge: TransitionEdge, duration: Duration = .milliseconds(500)) -> ImageTransition {
        ImageTransition(duration: duration) { frame in
            let (x, y): (Double, Double) =
                switch edge.resolved(isRightToLeft: frame.isRightToLeft) {
                case .right, .trailing: (1, 0)
                case .top: (0, -1)
                case .bottom: (0, 1)
                case .left, .leading: (-1, 0)
                }
            let rest = 1 - frame.progress
            frame.clipped {
                frame.moved(x: -x * frame.progress * frame.width, y: -y * frame.progress * frame.height) {
                    frame.drawOld()
                }
                frame.moved(x: x * rest * frame.width, y: y * rest * frame.height) { frame.drawNew() }
            }
        }
    }

    /// The new picture grows out of the middle and covers the old one.
    public static func zoomIn(duration: Duration = .milliseconds(500)) -> ImageTransition {
        ImageTransition(duration: duration) { frame in
            frame.drawOld()
            frame.scaled(by: frame.progress) { frame.drawNew() }
        }
    }

    /// The old picture shrinks into the middle and uncovers the new one.
    public static func zoomOut(duration: Duration = .milliseconds(500)) -> ImageTransition {
        ImageTransition(duration: duration) { frame in
            frame.drawNew()
            frame.scaled(by: 1 - frame.progress) { frame.drawOld() }
        }
    }
}
