"""A hash is a mapping of the fields under one key."""

import unittest

import brickyard
from place import TableTest


class Hashes(TableTest):
    def test_fields_are_those_of_a_dict(self):
        ann = self.table(values="json").hash("user:ann")
        self.assertEqual(dict(ann), {})
        ann["age"] = 41
        ann.update({"city": "Oslo"}, langs=["no"])
        self.assertEqual(ann, {"age": 41, "city": "Oslo", "langs": ["no"]})
        self.assertEqual(len(ann), 3)
        self.assertIn("age", ann)
        self.assertEqual(sorted(ann), ["age", "city", "langs"])
        self.assertEqual(dict(ann.items()), ann.copy())
        self.assertEqual(ann.get_many(["age", "none"]), {"age": 41})
        self.assertEqual(ann.get("none", 1), 1)
        with self.assertRaises(KeyError):
            ann["none"]
        with self.assertRaises(KeyError):
            del ann["none"]
        self.assertEqual(ann.incr("visits"), 1)
        self.assertEqual(ann.incr("visits", -3), -2)
        self.assertFalse(ann.add("age", 1))
        self.assertEqual(ann.setdefault("age", 1), 41)
        self.assertEqual(ann.setdefault("new", [1]), [1])
        self.assertEqual(ann.pop("new"), [1])
        self.assertEqual(ann.pop("new", 5), 5)
        with self.assertRaises(KeyError):
            ann.pop("new")
        self.assertTrue(ann.expire("city", 100))
        self.assertTrue(99 < ann.ttl("city") <= 100)
        self.assertIsNone(ann.ttl("age"))
        with self.assertRaises(KeyError):
            ann.ttl("none")
        taken = {}
        while len(ann):
            field, value = ann.popitem()
            taken[field] = value
        self.assertEqual(taken, {"age": 41, "city": "Oslo", "langs": ["no"], "visits": -2})
        with self.assertRaises(KeyError):
            ann.popitem()
        ann["a"] = 1
        ann.clear()
        self.assertNotIn("user:ann", ann.table)

    def test_a_string_is_no_hash(self):
        table = self.table()
        table["k"] = b"1"
        with self.assertRaisesRegex(brickyard.Refused, "^WRONGTYPE"):
            table.hash("k")["field"]
        hashed = table.hash("h", fields="json", values="str")
        hashed[1] = "one"
        self.assertEqual(dict(hashed), {1: "one"})
        with self.assertRaisesRegex(brickyard.Refused, "^WRONGTYPE"):
            table["h"]


if __name__ == "__main__":
    unittest.main()
