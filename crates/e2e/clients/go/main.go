// Command workload runs go-redis through a node kill; see ../README.md.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	patience     = time.Minute
	counters     = 10
	deletedAfter = 20
)

type session struct {
	client   *redis.ClusterClient
	failures int
}

func newSession(seeds []string) *session {
	return newSessionOf(redis.ClusterOptions{Addrs: seeds})
}

func newSessionOf(options redis.ClusterOptions) *session {
	options.TLSConfig = tlsConfig()
	return &session{client: redis.NewClusterClient(&options)}
}

// tlsConfig is there if the test names certificates.
func tlsConfig() *tls.Config {
	authority := os.Getenv("WORKLOAD_CA")
	if authority == "" {
		return nil
	}
	pem, err := os.ReadFile(authority)
	if err != nil {
		fail("%v", err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	pair, err := tls.LoadX509KeyPair(os.Getenv("WORKLOAD_CERT"), os.Getenv("WORKLOAD_KEY"))
	if err != nil {
		fail("%v", err)
	}
	return &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}
}

// call asks again until there is an answer; that a key is not there is one.
func (s *session) call(request func(context.Context, *redis.ClusterClient) error) {
	begin := time.Now()
	for {
		err := request(context.Background(), s.client)
		if err == nil || errors.Is(err, redis.Nil) {
			return
		}
		s.failures++
		if time.Since(begin) > patience {
			fail("still failing after %v: %v", patience, err)
		}
		fmt.Printf("again: %v\n", err)
		time.Sleep(20 * time.Millisecond)
	}
}

// get is the value of a key, "" if it is not there.
func (s *session) get(key string) (value string) {
	s.call(func(ctx context.Context, client *redis.ClusterClient) (err error) {
		value, err = client.Get(ctx, key).Result()
		return err
	})
	return value
}

func fail(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", arguments...)
	os.Exit(1)
}

func check(what, seen, wanted string) {
	if seen != wanted {
		fail("%s: got %q, acknowledged was %q", what, seen, wanted)
	}
}

// increment is sent by its name, and by its text to a node that does not know it.
var increment = redis.NewScript("return redis.call('incr', KEYS[1])")

// hears publishes until the listener has heard that; it finds its way back by itself when its node is gone.
func (s *session) hears(listener *redis.PubSub, message string) {
	begin := time.Now()
	for time.Since(begin) < patience {
		s.call(func(ctx context.Context, client *redis.ClusterClient) error {
			return client.Publish(ctx, "news", message).Err()
		})
		select {
		case heard := <-listener.Channel():
			if heard != nil && heard.Payload == message {
				return
			}
		case <-time.After(20 * time.Millisecond):
		}
	}
	fail("nothing is heard of %s", message)
}

func hashText(fields map[string]string) string {
	// Printed maps are sorted by key.
	return fmt.Sprint(fields)
}

func (s *session) hash(key string) string {
	var fields map[string]string
	s.call(func(ctx context.Context, client *redis.ClusterClient) (err error) {
		fields, err = client.HGetAll(ctx, key).Result()
		return err
	})
	return hashText(fields)
}

func run(s *session, stop string) (map[string]string, map[string]int64, map[string]map[string]string) {
	values := map[string]string{}
	hashes := map[string]map[string]string{}
	counts := map[string]int64{}
	for number := 0; ; number++ {
		if _, err := os.Stat(stop); err == nil {
			return values, counts, hashes
		}
		key, value := fmt.Sprintf("s:%d", number), strconv.Itoa(number)
		s.call(func(ctx context.Context, client *redis.ClusterClient) error {
			return client.Set(ctx, key, value, 0).Err()
		})
		values[key] = value
		check("GET "+key, s.get(key), value)
		counter := fmt.Sprintf("c:%d", number%counters)
		var counted int64
		s.call(func(ctx context.Context, client *redis.ClusterClient) (err error) {
			if number%2 == 1 {
				counted, err = increment.Run(ctx, client, []string{counter}).Int64()
			} else {
				counted, err = client.Incr(ctx, counter).Result()
			}
			return err
		})
		if counted <= counts[counter] {
			fail("INCR %s: got %d after %d", counter, counted, counts[counter])
		}
		counts[counter] = counted
		hashed, field := fmt.Sprintf("h:%d", number%counters), fmt.Sprintf("f%d", number%7)
		s.call(func(ctx context.Context, client *redis.ClusterClient) error {
			return client.HSet(ctx, hashed, field, value).Err()
		})
		if hashes[hashed] == nil {
			hashes[hashed] = map[string]string{}
		}
		hashes[hashed][field] = value
		check("HGETALL "+hashed, s.hash(hashed), hashText(hashes[hashed]))
		// This client has no MGET over several slots: a pipeline is what its users take.
		s.call(func(ctx context.Context, client *redis.ClusterClient) error {
			var got []*redis.StringCmd
			first := max(0, number-2)
			_, err := client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
				for at := first; at <= number; at++ {
					got = append(got, pipe.Get(ctx, fmt.Sprintf("s:%d", at)))
				}
				return nil
			})
			if err != nil {
				return err
			}
			for at, it := range got {
				check("pipelined GET", it.Val(), strconv.Itoa(first+at))
			}
			return nil
		})
		old := fmt.Sprintf("s:%d", number-deletedAfter)
		if _, known := values[old]; known && number%5 == 0 {
			s.call(func(ctx context.Context, client *redis.ClusterClient) error {
				return client.Del(ctx, old).Err()
			})
			values[old] = ""
			check("GET "+old, s.get(old), "")
		}
		fmt.Printf("round %d\n", number)
	}
}

func max(a, b int) int {
	if a > b {
		return a
	}
	return b
}

func main() {
	if os.Args[1] == "keyspace" {
		keyspace(strings.Split(os.Args[2], ","), os.Args[3])
		return
	}
	seeds := strings.Split(os.Args[1], ",")
	s := newSession(seeds)
	listener := s.client.Subscribe(context.Background(), "news")
	s.hears(listener, "first")
	values, counts, hashes := run(s, os.Args[2])
	s.hears(listener, "last")
	fresh := newSession(seeds)
	for key, value := range values {
		check("in the end, "+key, fresh.get(key), value)
	}
	for key, fields := range hashes {
		check("in the end, "+key, fresh.hash(key), hashText(fields))
	}
	for key, least := range counts {
		seen, _ := strconv.ParseInt(fresh.get(key), 10, 64)
		if seen < least {
			fail("in the end, %s: got %d, acknowledged was %d", key, seen, least)
		}
	}
	fmt.Printf("done: %d values, %d calls repeated\n", len(values), s.failures)
}
