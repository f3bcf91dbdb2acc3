// Command programs runs clients of Go, and real programs on top of them, each at one thing that it is used for; see ../README.md.
//
// Usage: programs NODE_PORT SEEDS [ONLY].
package main

import (
	"os"
	"strings"
)

func main() {
	only := ""
	if len(os.Args) > 3 {
		only = os.Args[3]
	}
	at := &place{node: os.Args[1], seeds: strings.Split(os.Args[2], ",")}
	if !run(at, only, append(clients, libraries...)) {
		os.Exit(1)
	}
}
