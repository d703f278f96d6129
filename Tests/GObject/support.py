"""What the tests in Python have in common."""

import unittest

from gi.repository import GLib


class LoopTestCase(unittest.TestCase):
    def iterate_until(self, condition):
        """Runs the main loop, and fails after 20 seconds."""
        # An error in a callback of GLib is printed, and does not get here.
        late = []
        timer = GLib.timeout_add_seconds(20, lambda: late.append(True) or True)
        try:
            while not condition():
                self.assertFalse(late, "this takes too long")
                GLib.MainContext.default().iteration(True)
        finally:
            GLib.source_remove(timer)
