package main

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// patience is for one program; the longest takes a few seconds.
const patience = time.Minute

// place is a cluster: the node port of one of its nodes, and the bricks' ports of all. Clients that it opened it closes after each
// program.
type place struct {
	node    string
	seeds   []string
	closing []func()
}

// later says what is to be done when the program has ended, the last first.
func (at *place) later(done func()) {
	at.closing = append(at.closing, done)
}

func (at *place) end() {
	for n := len(at.closing); n > 0; n-- {
		at.closing[n-1]()
	}
	at.closing = nil
}

func (at *place) client() *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: at.node})
	at.later(func() { client.Close() })
	return client
}

func (at *place) cluster() *redis.ClusterClient {
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: at.seeds})
	at.later(func() { client.Close() })
	return client
}

// program has a name, what it does, what it needs that is not served (the command that it fails by, or nothing), and itself.
type program struct {
	client, does, needs string
	run                 func(context.Context, *place)
}

// must ends a program whose call failed.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// get is the value of a call that must not fail.
func get[T any](value T, err error) T {
	must(err)
	return value
}

// equal ends a program that got something else than it should.
func equal(got, wanted any) {
	if !reflect.DeepEqual(got, wanted) {
		panic(fmt.Errorf("got %#v, wanted %#v", got, wanted))
	}
}

// check ends a program for which that does not hold.
func check(holds bool, what string) {
	if !holds {
		panic(fmt.Errorf("not so: %s", what))
	}
}

var named = regexp.MustCompile(`(?i)unknown command '(\w+)'`)

// isUnknown tells whether the text is the server's word that it does not know the command.
func isUnknown(command, text string) bool {
	if found := named.FindStringSubmatch(text); found != nil {
		return strings.EqualFold(found[1], command)
	}
	// A script's error does not name it.
	return strings.Contains(strings.ToLower(text), "unknown redis command called from script")
}

// attempt runs a program over an empty table, and gives what it failed by.
func attempt(one program, at *place) (failure any) {
	defer at.end()
	defer func() {
		if failure = recover(); failure != nil {
			fmt.Fprintf(os.Stderr, "%s: %s: %v\n%s\n", one.client, one.does, failure, debug.Stack())
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, address := range append([]string{at.node}, at.seeds...) {
		client := redis.NewClient(&redis.Options{Addr: address})
		at.later(func() { client.Close() })
		must(client.FlushAll(ctx).Err())
	}
	one.run(ctx, at)
	return nil
}

func outcome(one program, at *place) string {
	begin := time.Now()
	for {
		failure := attempt(one, at)
		if failure == nil {
			return "works"
		}
		text := fmt.Sprint(failure)
		if one.needs != "" && isUnknown(one.needs, text) {
			return "needs " + one.needs
		}
		// A partition changed hands meanwhile, which a busy machine does to a cluster. Applications go on by themselves then.
		isMoved := strings.Contains(text, "try again") || strings.Contains(text, "UNKNOWNRESULT")
		if !isMoved || time.Since(begin) > patience {
			return "fails"
		}
		fmt.Fprintf(os.Stderr, "again: %s: %s\n", one.client, one.does)
	}
}

// run runs those whose client or effect has that in it; it tells whether none failed.
func run(at *place, only string, programs []program) bool {
	isFine := true
	for _, one := range programs {
		if !strings.Contains(one.client+one.does, only) {
			continue
		}
		said := outcome(one, at)
		isFine = isFine && said != "fails"
		fmt.Printf("%s\t%s\t%s\n", one.client, one.does, said)
	}
	return isFine
}
