"""Counts the words of text files over a cluster: python words.py 127.0.0.1:6379 README.md ..."""

import collections
import sys

import brickyard


def count(items):  # of one part of the table, wherever that is read
    return collections.Counter(word for _, line in items for word in line.lower().split())


if __name__ == "__main__":
    seeds, *names = sys.argv[1:]
    client = brickyard.connect(seeds)
    client.create_table("lines")
    lines = client.table("lines", values="str")
    for name in names:
        with open(name, encoding="utf-8") as file:
            lines.update((f"{name}:{number}", line) for number, line in enumerate(file))
    words = sum(lines.map(count), collections.Counter())
    print(len(lines), "lines:", words.most_common(5))
