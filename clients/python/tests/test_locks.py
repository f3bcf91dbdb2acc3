"""Locks, and what their leases are worth."""

import threading
import unittest

import brickyard
from place import TableTest


class Locks(TableTest):
    def test_one_holds_it_at_a_time(self):
        table = self.table(values="json")
        table["n"] = 0
        tokens = []

        def work():
            for _ in range(20):
                with table.lock("l", ttl=60) as lock:
                    # Without the lock increments would be lost.
                    table["n"] = table["n"] + 1
                    tokens.append(lock.token)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(table["n"], 80)
        self.assertEqual(tokens, sorted(set(tokens)))

    def test_who_does_not_get_it_is_told(self):
        table = self.table()
        with table.lock("l", ttl=60) as held:
            self.assertGreater(held.time_left, 50)
            self.assertFalse(table.lock("l").acquire(timeout=0))
            with self.assertRaises(brickyard.NotAcquired):
                with table.lock("l", timeout=0.05):
                    self.fail("two hold it")
            with self.assertRaises(RuntimeError):
                held.acquire()
        self.assertEqual(held.time_left, 0)
        self.assertTrue(table.lock("l").acquire(timeout=0))

    def test_a_lease_runs_out_and_the_holder_is_told(self):
        table = self.table()
        slow = table.lock("l", ttl=0.05)
        self.assertTrue(slow.acquire())
        other = table.lock("l", ttl=60)
        self.assertTrue(other.acquire(timeout=30))
        self.assertGreater(other.token, slow.token)
        with self.assertRaises(brickyard.LockLost):
            slow.extend()
        with self.assertRaises(brickyard.LockLost):
            slow.release()
        other.extend(100)
        self.assertGreater(other.time_left, 60)
        other.release()
        with self.assertRaises(brickyard.LockLost):
            with table.lock("l", ttl=60):
                table.command("DEL", "l")
        with self.assertRaises(ZeroDivisionError):
            with table.lock("l", ttl=60):
                table.command("DEL", "l")
                1 // 0


if __name__ == "__main__":
    unittest.main()
