"""Parts of a table, read at once: by threads, by processes, by Dask."""

import collections
import concurrent.futures
import multiprocessing
import pickle
import unittest

from brickyard import _native
from place import TableTest


def count(items):
    return collections.Counter(word for _, line in items for word in line.split())


def fail(items):
    raise ZeroDivisionError(next(items)[0])


LINES = {f"line:{n}": f"word{n % 7} and word{n % 11}" for n in range(3000)}
EXPECTED = count(LINES.items())


def total(counts):
    return sum(counts, collections.Counter())


class Parts(TableTest):
    def lines(self):
        table = self.table(values="str")
        table.update(LINES)
        return table

    def test_each_key_is_in_one_part(self):
        table = self.lines()
        for number in [1, 2, 7, 16, 100]:
            parts = table.parts(number)
            self.assertEqual((parts[0].begin, parts[-1].end), (0, 16384))
            keys = [key for part in parts for key in part.keys()]
            self.assertEqual(len(keys), 3000, number)
            self.assertEqual(set(keys), set(LINES))
        for part in table.parts(3):
            self.assertTrue(all(part.begin <= _native.slot(key) < part.end for key in part.keys()))
            self.assertEqual(part.hosts(), ["127.0.0.1"])
        with self.assertRaises(ValueError):
            table.parts(0)

    def test_threads(self):
        table = self.lines()
        self.assertEqual(total(table.map(count)), EXPECTED)
        self.assertEqual(total(table.map(count, parts=3)), EXPECTED)
        with self.assertRaises(ZeroDivisionError):
            list(table.map(fail))

    def test_processes(self):
        table = self.lines()
        context = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(2, context) as processes:
            self.assertEqual(total(table.map(count, on=processes)), EXPECTED)

    def test_a_part_in_another_process_reads_beside_it(self):
        table = self.lines()
        part = pickle.loads(pickle.dumps(table.parts(4)[1]))
        self.assertEqual((part.begin, part.end), (4096, 8192))
        self.assertEqual(part.table.client.options.reads, "nearest")
        self.assertIn("127.0.0.1", part.table.client.options.near)
        self.assertEqual(dict(part.items()), dict(table.parts(4)[1].items()))
        part.table.client.close()

    def test_dask(self):
        import dask

        table = self.lines()
        with dask.config.set(scheduler="threads"):
            bag = table.to_dask(parts=8)
            self.assertEqual(bag.npartitions, 8)
            self.assertEqual(bag.count().compute(), 3000)
            words = bag.map(lambda item: item[1]).map(str.split).flatten().frequencies()
            self.assertEqual(dict(words.compute()), EXPECTED)

    def test_dask_on_several_machines(self):
        import distributed

        table = self.lines()
        with distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster:
            with distributed.Client(cluster) as client:
                self.assertEqual(total(table.map(count, on=client, parts=8)), EXPECTED)
                self.assertEqual(table.to_dask(parts=4).count().compute(), 3000)


if __name__ == "__main__":
    unittest.main()
