"""Clients: what they are opened with, what becomes of them in other processes, what their errors promise."""

import os
import pickle
import socket
import unittest

import brickyard
from place import SEEDS, TableTest


class Clients(TableTest):
    def test_a_pickled_table_is_the_same_one_elsewhere(self):
        table = self.table(values="json")
        table["k"] = 1
        loaded = pickle.loads(pickle.dumps(table))
        self.assertEqual(loaded, table)
        self.assertIsNot(loaded.client, self.client)
        self.assertEqual(loaded["k"], 1)
        self.assertEqual(len({loaded, table}), 1)
        self.assertNotEqual(table, self.client.table(table.name))
        loaded.client.close()

    def test_a_child_leaves_its_parents_connections_alone(self):
        table = self.table(values="json")
        table["k"] = 1
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            # A failed test must not go on as a second process.
            said = b"nothing"
            try:
                try:
                    table["k"] = 2
                except brickyard.ForkedError:
                    fresh = brickyard.connect(SEEDS)
                    said = str(fresh.table(table.name, values="json")["k"]).encode()
                del table
                self.client = None
            finally:
                os.write(writer, said)
                os._exit(0)
        os.waitpid(child, 0)
        self.assertEqual(os.read(reader, 100), b"1")
        os.close(reader)
        os.close(writer)
        for n in range(100):
            table["k"] = n
        self.assertEqual(table["k"], 99)

    def test_a_closed_client_takes_no_calls(self):
        table = self.table()
        table["k"] = b"1"
        other = brickyard.connect(SEEDS)
        same = other.table(table.name)
        with other:
            self.assertEqual(same["k"], b"1")
        with self.assertRaises(brickyard.ClientClosed) as closed:
            same["k"]
        self.assertIsInstance(closed.exception, brickyard.NotExecuted)
        self.assertEqual(table["k"], b"1")

    def test_nobody_there_is_said(self):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{unused.getsockname()[1]}"
            with self.assertRaises(ConnectionError) as refusal:
                brickyard.connect(address, deadline=0.5)
        self.assertIsInstance(refusal.exception, brickyard.Unreachable)

    def test_options_that_make_no_sense_are_refused(self):
        for wrong in [{"reads": "any"}, {"deadline": -1}, {"tls_authority": "nowhere.crt"}, {"tls_certificate": "a"}, {"near": ("a",)}]:
            with self.assertRaises(ValueError, msg=wrong):
                brickyard.connect(SEEDS, **wrong)
        with self.assertRaises(ValueError):
            brickyard.connect("")
        self.assertNotIn("secret", repr(brickyard.Options(seeds=("a",), password="secret")))

    def test_reads_from_replicas_see_what_was_written(self):
        for reads in ["replicas", "nearest"]:
            with brickyard.connect(SEEDS, reads=reads) as client:
                table = client.table(self.table().name)
                for n in range(100):
                    table["k"] = str(n).encode()
                    self.assertEqual(table["k"], str(n).encode())

    def test_a_refusal_is_in_the_servers_words(self):
        table = self.table()
        table["word"] = b"x"
        with self.assertRaisesRegex(brickyard.Refused, "^ERR value is not an integer"):
            table.incr("word")
        self.assertFalse(self.client.create_table(table.name))
        with self.assertRaises(brickyard.Refused):
            self.client.create_table("other", durability="wishful")
        with self.assertRaises(brickyard.Refused):
            self.client.table("no_such_table")["k"]


if __name__ == "__main__":
    unittest.main()
