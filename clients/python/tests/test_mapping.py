"""A table is a mapping, and does what a dict does."""

import pickle
import threading
import unittest

import brickyard
from brickyard import codecs
from place import TableTest


class Mapping(TableTest):
    def test_single_keys_are_those_of_a_dict(self):
        table = self.table()
        table["a"] = b"1"
        table[b"b"] = bytearray(b"2")
        self.assertEqual(table["a"], b"1")
        self.assertEqual(table["b"], b"2")
        self.assertIn("a", table)
        self.assertNotIn("c", table)
        self.assertEqual(table.get("c"), None)
        self.assertEqual(table.get("c", b"d"), b"d")
        with self.assertRaises(KeyError) as missing:
            table["c"]
        self.assertEqual(missing.exception.args, ("c",))
        self.assertEqual(len(table), 2)
        self.assertEqual(sorted(table), ["a", "b"])
        self.assertEqual(dict(table), {"a": b"1", "b": b"2"})
        del table["a"]
        with self.assertRaises(KeyError):
            del table["a"]
        self.assertEqual(sorted(table.values()), [b"2"])

    def test_what_is_taken_is_taken_once(self):
        table = self.table()
        table["a"] = b"1"
        self.assertEqual(table.pop("a"), b"1")
        self.assertEqual(table.pop("a", None), None)
        with self.assertRaises(KeyError):
            table.pop("a")
        table.update(a=b"1", b=b"2")
        taken = dict([table.popitem(), table.popitem()])
        self.assertEqual(taken, {"a": b"1", "b": b"2"})
        with self.assertRaises(KeyError):
            table.popitem()

    def test_setdefault_stores_once_for_all(self):
        table = self.table(values="json")
        got = []
        threads = [threading.Thread(target=lambda n=n: got.append(table.setdefault("k", n))) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(got, [table["k"]] * 8)

    def test_conditions_expiry_and_counters(self):
        table = self.table()
        self.assertTrue(table.set("a", b"1", if_missing=True))
        self.assertFalse(table.add("a", b"2"))
        self.assertFalse(table.set("b", b"2", if_exists=True))
        self.assertFalse(table.replace("a", b"2", b"3"))
        self.assertTrue(table.replace("a", b"1", b"3"))
        self.assertFalse(table.delete_if("a", b"1"))
        self.assertTrue(table.delete_if("a", b"3"))
        self.assertEqual(table.incr("n"), 1)
        self.assertEqual(table.incr("n", 41), 42)
        self.assertEqual(table.decr("n", 2), 40)
        self.assertIsNone(table.ttl("n"))
        self.assertTrue(table.expire("n", 100))
        self.assertTrue(99 < table.ttl("n") <= 100)
        self.assertTrue(table.persist("n"))
        table.set("short", b"x", ttl=1000)
        table.set("short", b"y", keep_ttl=True)
        self.assertTrue(999 < table.ttl("short") <= 1000)
        with self.assertRaises(KeyError) as missing:
            table.ttl("nothing")
        self.assertEqual(missing.exception.args, ("nothing",))
        with self.assertRaises(brickyard.InvalidCall):
            table.set("a", b"1", ttl=0)

    def test_all_keys_are_removed_only_by_name(self):
        table = self.table()
        table["a"] = b"1"
        with self.assertRaises(brickyard.InvalidCall) as refusal:
            table.clear()
        self.assertIn(repr(table.name), str(refusal.exception))
        table.clear(confirm=table.name)
        self.assertEqual(len(table), 0)
        self.assertTrue(table)

    def test_many_keys_go_together(self):
        table = self.table(values="json")
        table.update({f"k{n}": n for n in range(5000)})
        self.assertEqual(len(table), 5000)
        self.assertEqual(table.get_many(["k1", "none", "k4999"]), {"k1": 1, "k4999": 4999})
        self.assertEqual({key: value for key, value in table.items()}, {f"k{n}": n for n in range(5000)})
        self.assertEqual(table.delete_many(f"k{n}" for n in range(4000, 6000)), 1000)
        self.assertEqual(sum(1 for _ in table.scan("k1*")), 1111)
        walked = list(table.scan(walks=4, page=100))
        self.assertEqual(len(walked), 4000)
        self.assertEqual(set(walked), {f"k{n}" for n in range(4000)})

    def test_a_walk_that_is_left_early_ends(self):
        table = self.table(values="json")
        table.update({f"k{n}": n for n in range(2000)})
        before = threading.active_count()
        walk = table.scan(walks=4, page=10)
        next(walk)
        walk.close()
        deadline = threading.Event()
        for _ in range(200):
            if threading.active_count() <= before:
                break
            deadline.wait(0.05)
        self.assertLessEqual(threading.active_count(), before)

    def test_commands_of_any_kind(self):
        table = self.table()
        self.assertEqual(table.command("APPEND", "a", b"xyz"), 3)
        self.assertEqual(table.command("GETRANGE", "a", 1, -1), b"yz")
        self.assertEqual(table.command("SET", "a", "1"), "OK")
        self.assertEqual(table.command("MGET", "a", "{b}"), [b"1", None])
        with self.assertRaises(brickyard.Refused) as refusal:
            table.command("NONSENSE")
        self.assertEqual(refusal.exception.prefix, "ERR")
        with self.assertRaises(brickyard.InvalidCall):
            table.command("MULTI")

    def test_pipelines_tell_each_result(self):
        table = self.table(values="json")
        with table.pipeline() as pipeline:
            pipeline["a"] = 1
            counts = [pipeline.incr("n") for _ in range(3000)]
            old = pipeline.setdefault("a", 2)
            missing = pipeline.get("nothing")
            self.assertEqual(counts[10].result(), 11)
        self.assertEqual([count.result() for count in counts], list(range(1, 3001)))
        self.assertTrue(counts[-1].is_done())
        self.assertEqual((old.result(), missing.result()), (1, None))
        later = [table.get_later("a"), table.set_later("b", 3)]
        self.assertEqual([it.result() for it in later], [1, True])

    def test_a_pipeline_tells_which_calls_failed(self):
        table = self.table(values="json")
        table["word"] = "x"
        with self.assertRaises(brickyard.SomeFailed) as failed:
            with table.pipeline() as pipeline:
                pipeline.incr("word")
                pipeline.incr("number")
        self.assertEqual(list(failed.exception.errors), ["word"])
        self.assertIsInstance(failed.exception.errors["word"], brickyard.Refused)
        self.assertEqual(table["number"], 1)
        with table.pipeline() as pipeline:
            asked = pipeline.incr("word")
            with self.assertRaises(brickyard.NotExecuted):
                asked.result()
        with self.assertRaisesRegex(ZeroDivisionError, "division"):
            with table.pipeline() as pipeline:
                pipeline.incr("word")
                1 // 0
        self.assertEqual(pickle.loads(pickle.dumps(failed.exception)).errors.keys(), {"word"})


class Codecs(TableTest):
    def test_values_and_keys_by_codec(self):
        for name, value in [("json", {"a": [1, None, "ä"]}), ("str", "ä\udcff"), ("msgpack", {"a": [1, b"\xff"]})]:
            table = self.table(values=name)
            table["k"] = value
            self.assertEqual(table["k"], value)
        table = self.table(keys="json", values="json")
        table[7] = 1
        table["a", 1] = 2
        self.assertEqual(sorted(map(str, table)), ["7", "['a', 1]"])
        table = self.table(keys="bytes")
        table[b"\xff"] = b""
        self.assertEqual(dict(table), {b"\xff": b""})

    def test_keys_that_are_no_text_come_back_as_they_were(self):
        table = self.table()
        table[b"\xff\xfe"] = b"1"
        [key] = table
        self.assertEqual(table[key], b"1")

    def test_what_has_no_bytes_is_refused(self):
        table = self.table()
        for value in ["text", 1, None]:
            with self.assertRaisesRegex(TypeError, "codec"):
                table["k"] = value
        with self.assertRaisesRegex(TypeError, "codec"):
            table[1]
        self.assertEqual(len(table), 0)

    def test_pickles_are_off_by_default(self):
        with self.assertRaisesRegex(ValueError, "Pickle()"):
            self.client.table(values="pickle")
        table = self.table(values=codecs.Pickle())
        table["k"] = {1, 2}
        self.assertEqual(table["k"], {1, 2})
        with self.assertRaisesRegex(ValueError, "json"):
            self.client.table(values="xml")


if __name__ == "__main__":
    unittest.main()
