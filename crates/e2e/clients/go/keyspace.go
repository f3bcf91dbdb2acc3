package main

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const keyCount = 300

// until asks again until the answer is the wanted one: while partitions change hands a scan may miss some, as with Redis.
func until[T any](s *session, what string, wanted T, request func(context.Context, *redis.ClusterClient) (T, error)) {
	begin := time.Now()
	for {
		var seen T
		s.call(func(ctx context.Context, client *redis.ClusterClient) (err error) {
			seen, err = request(ctx, client)
			return err
		})
		if reflect.DeepEqual(seen, wanted) {
			return
		}
		if time.Since(begin) > patience {
			fail("%s: got %v, wanted %v", what, seen, wanted)
		}
		fmt.Printf("again: %s: %.60s\n", what, fmt.Sprint(seen))
		time.Sleep(20 * time.Millisecond)
	}
}

// scanned is every key that some master has.
func scanned(ctx context.Context, client *redis.ClusterClient) (map[string]bool, error) {
	var lock sync.Mutex
	seen := map[string]bool{}
	err := client.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
		keys := master.Scan(ctx, 0, "*", 20).Iterator()
		for keys.Next(ctx) {
			lock.Lock()
			seen[keys.Val()] = true
			lock.Unlock()
		}
		return keys.Err()
	})
	return seen, err
}

func makeRound(seeds []string, writer, reader *session, number int) {
	names := map[string]bool{}
	values := map[string]string{}
	for at := 0; at < keyCount; at++ {
		key := fmt.Sprintf("k:%d:%d", number, at)
		names[key], values[key] = true, strconv.Itoa(at)
	}
	size := func(ctx context.Context, client *redis.ClusterClient) (int64, error) {
		return client.DBSize(ctx).Result()
	}
	until(writer, "DBSIZE after FLUSHALL", 0, func(ctx context.Context, client *redis.ClusterClient) (int64, error) {
		err := client.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
			return master.FlushAll(ctx).Err()
		})
		if err != nil {
			return 0, err
		}
		// It is counted by a client that knows today's masters.
		fresh := newSession(seeds)
		defer fresh.client.Close()
		return size(ctx, fresh.client)
	})
	writer.call(func(ctx context.Context, client *redis.ClusterClient) error {
		_, err := client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for key, value := range values {
				pipe.Set(ctx, key, value, 0)
			}
			return nil
		})
		return err
	})
	until(writer, "DBSIZE", keyCount, size)
	until(writer, "SCAN", names, scanned)
	for key, value := range values {
		until(reader, "GET of a replica", value, func(ctx context.Context, client *redis.ClusterClient) (string, error) {
			return client.Get(ctx, key).Result()
		})
	}
}

// keyspace looks at all keys of the cluster, round after round; see ../README.md.
func keyspace(seeds []string, stop string) {
	writer := newSession(seeds)
	reader := newSessionOf(redis.ClusterOptions{Addrs: seeds, ReadOnly: true, RouteRandomly: true})
	number := 0
	for {
		if _, err := os.Stat(stop); err == nil {
			break
		}
		makeRound(seeds, writer, reader, number)
		fmt.Printf("round %d\n", number)
		number++
	}
	fmt.Printf("done: %d rounds, %d calls repeated\n", number, writer.failures+reader.failures)
}
