"""Where the tests' tables are: a node or cluster that is up, by BRICKYARD_SEEDS."""

import itertools
import os
import unittest

import brickyard

SEEDS = os.environ["BRICKYARD_SEEDS"]

_numbers = itertools.count()


class TableTest(unittest.TestCase):
    """A test with a client, and tables of its own."""

    def setUp(self):
        self.client = brickyard.connect(SEEDS)
        self.addCleanup(self.client.close)

    def table(self, **codecs):
        """A new table, which is dropped when the test is over."""
        name = f"t{os.getpid()}_{next(_numbers)}"
        self.assertTrue(self.client.create_table(name, partitions=8))
        root = brickyard.connect(SEEDS)
        self.addCleanup(root.close)
        self.addCleanup(root.table().command, "TABLE", "DROP", name, "CONFIRM", name)
        return self.client.table(name, **codecs)
