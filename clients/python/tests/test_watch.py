"""A table is followed: every change, in its order, from any position on; and what is kept under leases is never older than what was written."""

import asyncio
import time
import unittest

import brickyard
from place import SEEDS, TableTest


class Watches(TableTest):
    def followed(self, **codecs):
        table = self.table(**codecs)
        table.command("TABLE", "ALTER", table.name, "HISTORY", "1mb")
        return table

    def take(self, watch, count):
        changes = [watch.next(10) for _ in range(count)]
        self.assertNotIn(None, changes)
        return changes

    def test_changes_are_told_as_they_were_made(self):
        table = self.followed(values="json")
        watch = table.watch()
        table["a"] = {"n": 1}
        table["a"] = [2]
        del table["a"]
        told = [(it.kind, it.key, it.value) for it in self.take(watch, 3)]
        self.assertEqual(told, [("set", "a", {"n": 1}), ("set", "a", [2]), ("delete", "a", None)])
        self.assertIsNone(watch.next(0.1))
        table.set("b", 1, ttl=100)
        (change,) = self.take(watch, 1)
        self.assertTrue(95 < change.expires_at - time.time() < 105, change)
        table.hash("h")["field"] = {"x": 1}
        (change,) = self.take(watch, 1)
        self.assertEqual((change.kind, change.key, change.value), ("hash", "h", {"field": {"x": 1}}))
        table.clear(confirm=table.name)
        slots = 0
        while slots < 16384:
            (change,) = self.take(watch, 1)
            self.assertEqual((change.kind, change.key), ("clear", None))
            slots += change.slots[1] - change.slots[0] + 1
        self.assertEqual(slots, 16384)

    def test_another_watch_goes_on_from_a_position(self):
        table = self.followed(values="str")
        watch = table.watch("w:")
        begin = watch.position
        for number in range(50):
            table["w:k"] = str(number)
            table["other"] = "x"
        seen = [it.value for it in self.take(watch, 50)]
        self.assertEqual(seen, [str(number) for number in range(50)])
        table["w:k"] = "last"
        other = table.watch("w:", position=watch.position)
        self.assertEqual([it.value for it in self.take(other, 1)], ["last"])
        again = table.watch("w:", position=begin)
        self.assertEqual([it.value for it in self.take(again, 51)], [*seen, "last"])
        with self.assertRaisesRegex(brickyard.Refused, "other keys"):
            table.watch("w:", position=table.watch(key="w:k").position).next(1)

    def test_one_key_is_followed(self):
        table = self.followed(keys="json", values="str")
        watch = table.watch(key=[1])
        table[[2]] = "two"
        table[[1]] = "one"
        (change,) = self.take(watch, 1)
        self.assertEqual((change.key, change.value), ([1], "one"))
        with self.assertRaisesRegex(ValueError, "prefix"):
            table.watch("a", key=[1])

    def test_a_table_without_a_history_says_so(self):
        with self.assertRaisesRegex(brickyard.Refused, "HISTORY"):
            self.table().watch()

    def test_changes_are_awaited(self):
        table = self.followed(values="str")

        async def follow():
            watch = table.aio.watch()
            await table.aio.set("k", "1")
            first = await watch.__anext__()
            # A wait that is cancelled loses nothing.
            waiting = asyncio.ensure_future(watch.__anext__())
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            await table.aio.set("k", "2")
            async for change in watch:
                return first.value, change.value

        self.assertEqual(asyncio.run(follow()), ("1", "2"))


class Kept(TableTest):
    def test_what_is_kept_is_never_old(self):
        table = self.table(values="str")
        table.command("TABLE", "ALTER", table.name, "LEASES", "on")
        keeper = brickyard.connect(SEEDS, cache_bytes=1 << 20)
        self.addCleanup(keeper.close)
        kept = keeper.table(table.name, values="str")

        def calls():
            stats = table.command("INFO", "commandstats").decode()
            lines = [it for it in stats.splitlines() if it.startswith("cmdstat_lease|get:")]
            return int(lines[0].split("calls=")[1].split(",")[0]) if lines else 0

        before, reads = calls(), 0
        for number in range(20):
            table["k"] = str(number)
            for _ in range(50):
                self.assertEqual(kept["k"], str(number))
                reads += 1
        asked = calls() - before
        self.assertTrue(20 <= asked < reads / 2, f"{asked} of {reads} reads were asked")

    def test_only_reads_of_primaries_are_kept(self):
        with self.assertRaisesRegex(ValueError, "cache_bytes"):
            brickyard.Options(seeds=("127.0.0.1:1",), reads="replicas", cache_bytes=1)


if __name__ == "__main__":
    unittest.main()
