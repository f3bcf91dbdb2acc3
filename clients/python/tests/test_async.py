"""Tables for async code."""

import asyncio
import unittest

import brickyard
from place import TableTest


class Async(TableTest):
    def run_async(self, test):
        asyncio.run(test(self.table(values="json").aio))

    def test_calls_are_awaited(self):
        async def test(table):
            self.assertTrue(await table.set("a", 1))
            self.assertEqual(await table.get("a"), 1)
            self.assertEqual(await table.get("b", 5), 5)
            self.assertEqual(await table.incr("a", 2), 3)
            self.assertFalse(await table.replace("a", 1, 2))
            self.assertEqual(await table.setdefault("a", 9), 3)
            self.assertEqual(await table.pop("a"), 3)
            with self.assertRaises(KeyError):
                await table.pop("a")
            self.assertEqual(await table.pop("a", None), None)
            with self.assertRaises(KeyError):
                await table.ttl("a")
            with self.assertRaises(brickyard.Refused):
                await table.command("NONSENSE")

        self.run_async(test)

    def test_many_calls_at_once(self):
        async def test(table):
            sums = await asyncio.gather(*(table.incr("n") for _ in range(500)))
            self.assertEqual(sorted(sums), list(range(1, 501)))
            await table.update({f"k{n}": n for n in range(3000)})
            self.assertEqual(await table.length(), 3001)
            self.assertEqual(await table.get_many(["k1", "none"]), {"k1": 1})
            self.assertEqual(len([key async for key in table]), 3001)
            self.assertEqual({key: value async for key, value in table.items()}["k2999"], 2999)
            self.assertEqual(sorted([key async for key in table.scan("k29?")]), [f"k29{n}" for n in range(10)])

        self.run_async(test)

    def test_one_task_holds_a_lock_at_a_time(self):
        async def test(table):
            await table.set("n", 0)
            tokens = []

            async def work():
                async with table.lock("l", ttl=60) as lock:
                    await table.set("n", await table.get("n") + 1)
                    tokens.append(lock.token)

            await asyncio.gather(*(work() for _ in range(20)))
            self.assertEqual(await table.get("n"), 20)
            self.assertEqual(tokens, sorted(set(tokens)))
            held = table.lock("l", ttl=60)
            self.assertTrue(await held.acquire())
            with self.assertRaises(brickyard.NotAcquired):
                async with table.lock("l", timeout=0):
                    self.fail("two hold it")
            await held.extend(100)
            self.assertGreater(held.time_left, 60)
            await held.release()
            with self.assertRaises(brickyard.LockLost):
                await held.release()

        self.run_async(test)

    def test_fields_of_a_hash(self):
        async def test(table):
            ann = table.hash("user:ann")
            self.assertTrue(await ann.set("age", 41))
            self.assertFalse(await ann.add("age", 1))
            await ann.update({"city": "Oslo"}, langs=["no"])
            self.assertEqual(await ann.get("city"), "Oslo")
            self.assertEqual(await ann.get("none", 1), 1)
            self.assertEqual(await ann.incr("age"), 42)
            self.assertEqual(await ann.delete("langs", "none"), 1)
            self.assertEqual(await ann.delete(), 0)
            self.assertTrue(await ann.exists("age"))
            self.assertEqual(await ann.length(), 2)
            self.assertEqual(await ann.copy(), {"age": 42, "city": "Oslo"})
            self.assertEqual(table.table.hash("user:ann"), {"age": 42, "city": "Oslo"})

        self.run_async(test)

    def test_a_cancelled_call_leaves_the_others_alone(self):
        async def test(table):
            await table.set("a", 1)
            calls = [asyncio.ensure_future(table.get("a")) for _ in range(50)]
            await asyncio.sleep(0)
            for call in calls[::2]:
                call.cancel()
            results = await asyncio.gather(*calls, return_exceptions=True)
            self.assertEqual(results[1::2], [1] * 25)
            self.assertTrue(all(isinstance(it, asyncio.CancelledError) for it in results[::2]))
            self.assertEqual(await table.get("a"), 1)

        self.run_async(test)

    def test_one_table_serves_several_loops_and_threads(self):
        table = self.table(values="json")

        async def count():
            return await asyncio.gather(*(table.aio.incr("n") for _ in range(10)))

        for _ in range(3):
            asyncio.run(count())
        self.assertEqual(table["n"], 30)


if __name__ == "__main__":
    unittest.main()
