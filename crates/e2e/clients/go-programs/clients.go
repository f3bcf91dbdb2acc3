package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// clients by themselves, as their makers' first pages have them.
var clients = []program{
	{"go-redis", "strings and hashes: SET with its options, MGET, HSET of a struct, HINCRBY, HEXPIRE, scan iterator", "", goRedis},
	{"go-redis", "Pipelined and TxPipelined, keys anywhere", "", goRedisPipelines},
	{"go-redis", "Watch and try again, two keys, eight goroutines", "", goRedisWatch},
	{"go-redis", "a script of keys of several slots; pub/sub, channel and pattern", "", goRedisScripts},
	{"go-redis, cluster", "single keys, a pipeline over slots, TxPipelined and Watch of one slot, scripts, all masters", "", goRedisCluster},
	{"go-redis, cluster", "reads of copies, by chance and by latency; sharded channels", "", goRedisCopies},
	{"go-redis, ring", "a ring of three shards, all of them this node, and a pipeline over them", "", goRedisRing},
	{"redigo", "a pool, a pipeline by Send and Flush, MULTI, a script, Scan of a struct, pub/sub", "", redigo},
	{"rueidis", "DoMulti, a dedicated connection with WATCH, a Lua script, pub/sub (no cache at the client)", "", rueidisPlain},
	{"rueidis, cluster", "single keys, DoMulti over slots, MGet over slots (no cache at the client)", "", rueidisCluster},
}

func goRedis(ctx context.Context, at *place) {
	client := at.client()
	check(get(client.SetNX(ctx, "a", 1, time.Minute).Result()), "it is new")
	check(!get(client.SetNX(ctx, "a", 2, time.Minute).Result()), "it is there already")
	equal(get(client.IncrBy(ctx, "a", 4).Result()), int64(5))
	equal(get(client.MGet(ctx, "a", "nothing").Result()), []any{"5", nil})
	_, err := client.Get(ctx, "nothing").Result()
	check(errors.Is(err, goredis.Nil), "nothing is there")
	type user struct {
		Name string `redis:"name"`
		Age  int    `redis:"age"`
	}
	must(client.HSet(ctx, "h", user{"ann", 41}).Err())
	equal(get(client.HIncrBy(ctx, "h", "age", 1).Result()), int64(42))
	var read user
	must(client.HGetAll(ctx, "h").Scan(&read))
	equal(read, user{"ann", 42})
	equal(get(client.HExpire(ctx, "h", time.Minute, "age").Result()), []int64{1})
	for n := 0; n < 100; n++ {
		must(client.Set(ctx, fmt.Sprintf("s:%d", n), n, 0).Err())
	}
	seen := map[string]bool{}
	keys := client.Scan(ctx, 0, "s:*", 20).Iterator()
	for keys.Next(ctx) {
		seen[keys.Val()] = true
	}
	must(keys.Err())
	equal(len(seen), 100)
}

func goRedisPipelines(ctx context.Context, at *place) {
	client := at.client()
	replies := get(client.Pipelined(ctx, func(pipe goredis.Pipeliner) error {
		for n := 0; n < 1000; n++ {
			pipe.Set(ctx, fmt.Sprintf("k%d", n), n, time.Minute)
		}
		return nil
	}))
	equal(len(replies), 1000)
	var count *goredis.IntCmd
	get(client.TxPipelined(ctx, func(pipe goredis.Pipeliner) error {
		pipe.Set(ctx, "a", 1, 0)
		count = pipe.Incr(ctx, "b")
		pipe.HSet(ctx, "c", "f", "v")
		return nil
	}))
	equal(count.Val(), int64(1))
}

func goRedisWatch(ctx context.Context, at *place) {
	client := at.client()
	must(client.MSet(ctx, "left", 100, "right", 100).Err())
	var all sync.WaitGroup
	failed := make(chan error, 8)
	for n := 0; n < 8; n++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for {
				err := client.Watch(ctx, func(tx *goredis.Tx) error {
					left, err := tx.Get(ctx, "left").Int()
					if err != nil {
						return err
					}
					right, err := tx.Get(ctx, "right").Int()
					if err != nil {
						return err
					}
					_, err = tx.TxPipelined(ctx, func(pipe goredis.Pipeliner) error {
						pipe.Set(ctx, "left", left-1, 0)
						pipe.Set(ctx, "right", right+1, 0)
						return nil
					})
					return err
				}, "left", "right")
				if !errors.Is(err, goredis.TxFailedErr) {
					failed <- err
					return
				}
			}
		}()
	}
	all.Wait()
	close(failed)
	for err := range failed {
		must(err)
	}
	equal(get(client.MGet(ctx, "left", "right").Result()), []any{"92", "108"})
}

func goRedisScripts(ctx context.Context, at *place) {
	client := at.client()
	move := goredis.NewScript(`redis.call("DECRBY", KEYS[1], ARGV[1]) return redis.call("INCRBY", KEYS[2], ARGV[1])`)
	equal(get(move.Run(ctx, client, []string{"from", "to"}, 4).Int()), 4)
	must(client.ScriptFlush(ctx).Err())
	equal(get(move.Run(ctx, client, []string{"from", "to"}, 6).Int()), 10)
	listener := client.Subscribe(ctx, "news")
	defer listener.Close()
	must(listener.PSubscribe(ctx, "n*"))
	get(listener.Receive(ctx))
	get(listener.Receive(ctx))
	equal(get(client.Publish(ctx, "news", "x").Result()), int64(2))
	for n := 0; n < 2; n++ {
		message := get(listener.ReceiveMessage(ctx))
		equal([]string{message.Channel, message.Payload}, []string{"news", "x"})
	}
}

func goRedisCluster(ctx context.Context, at *place) {
	client := at.cluster()
	replies := get(client.Pipelined(ctx, func(pipe goredis.Pipeliner) error {
		for n := 0; n < 100; n++ {
			pipe.Set(ctx, fmt.Sprintf("k%d", n), n, 0)
		}
		return nil
	}))
	equal(len(replies), 100)
	for n := 0; n < 100; n++ {
		equal(get(client.Incr(ctx, fmt.Sprintf("k%d", n)).Result()), int64(n+1))
	}
	var count *goredis.IntCmd
	get(client.TxPipelined(ctx, func(pipe goredis.Pipeliner) error {
		pipe.Set(ctx, "{t}a", 1, 0)
		count = pipe.Incr(ctx, "{t}a")
		return nil
	}))
	equal(count.Val(), int64(2))
	must(client.Watch(ctx, func(tx *goredis.Tx) error {
		_, err := tx.TxPipelined(ctx, func(pipe goredis.Pipeliner) error { return pipe.HSet(ctx, "{t}h", "f", "v").Err() })
		return err
	}, "{t}a"))
	double := goredis.NewScript(`return redis.call("GET", KEYS[1]) * 2`)
	for n := 0; n < 20; n++ {
		equal(get(double.Run(ctx, client, []string{fmt.Sprintf("k%d", n)}).Int()), 2*(n+1))
	}
	equal(get(client.DBSize(ctx).Result()), int64(102))
}

func goRedisCopies(ctx context.Context, at *place) {
	for _, options := range []goredis.ClusterOptions{
		{Addrs: at.seeds, ReadOnly: true, RouteRandomly: true},
		{Addrs: at.seeds, ReadOnly: true, RouteByLatency: true},
	} {
		client := goredis.NewClusterClient(&options)
		at.later(func() { client.Close() })
		for n := 0; n < 50; n++ {
			key := fmt.Sprintf("k%d", n)
			must(client.Set(ctx, key, n, 0).Err())
			equal(get(client.Get(ctx, key).Int()), n)
		}
	}
	client := at.cluster()
	listener := client.SSubscribe(ctx, "orders")
	defer listener.Close()
	get(listener.Receive(ctx))
	must(client.SPublish(ctx, "orders", "x").Err())
	equal(get(listener.ReceiveMessage(ctx)).Payload, "x")
}

func goRedisRing(ctx context.Context, at *place) {
	// Any node takes any key, so which one the ring chooses does not matter.
	client := goredis.NewRing(&goredis.RingOptions{Addrs: map[string]string{"one": at.node, "two": at.node, "three": at.node}})
	at.later(func() { client.Close() })
	get(client.Pipelined(ctx, func(pipe goredis.Pipeliner) error {
		for n := 0; n < 100; n++ {
			pipe.Set(ctx, fmt.Sprintf("k%d", n), n, 0)
		}
		return nil
	}))
	for n := 0; n < 100; n++ {
		equal(get(client.Get(ctx, fmt.Sprintf("k%d", n)).Int()), n)
	}
}

func redigo(_ context.Context, at *place) {
	pool := &redis.Pool{MaxIdle: 3, Dial: func() (redis.Conn, error) { return redis.Dial("tcp", at.node) }}
	at.later(func() { pool.Close() })
	conn := pool.Get()
	defer conn.Close()
	for n := 0; n < 100; n++ {
		must(conn.Send("SET", fmt.Sprintf("k%d", n), n))
	}
	must(conn.Flush())
	for n := 0; n < 100; n++ {
		equal(get(redis.String(conn.Receive())), "OK")
	}
	must(conn.Send("MULTI"))
	must(conn.Send("INCR", "k1"))
	must(conn.Send("INCR", "k2"))
	equal(get(redis.Ints(conn.Do("EXEC"))), []int{2, 3})
	script := redis.NewScript(2, `return {redis.call("GET", KEYS[1]), redis.call("GET", KEYS[2])}`)
	equal(get(redis.Ints(script.Do(conn, "k1", "k2"))), []int{2, 3})
	type user struct {
		Name string `redis:"name"`
		Age  int    `redis:"age"`
	}
	get(conn.Do("HSET", redis.Args{}.Add("h").AddFlat(user{"ann", 41})...))
	var read user
	must(redis.ScanStruct(get(redis.Values(conn.Do("HGETALL", "h"))), &read))
	equal(read, user{"ann", 41})
	listener := redis.PubSubConn{Conn: pool.Get()}
	defer listener.Close()
	must(listener.Subscribe("news"))
	equal(listener.ReceiveWithTimeout(patience).(redis.Subscription).Count, 1)
	get(conn.Do("PUBLISH", "news", "x"))
	equal(string(listener.ReceiveWithTimeout(patience).(redis.Message).Data), "x")
}

func rueidisPlain(ctx context.Context, at *place) {
	client := get(rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{at.node}, DisableCache: true, ForceSingleClient: true}))
	at.later(client.Close)
	var commands rueidis.Commands
	for n := 0; n < 100; n++ {
		commands = append(commands, client.B().Set().Key(fmt.Sprintf("k%d", n)).Value(fmt.Sprint(n)).Ex(time.Minute).Build())
	}
	for _, reply := range client.DoMulti(ctx, commands...) {
		must(reply.Error())
	}
	must(client.Dedicated(func(one rueidis.DedicatedClient) error {
		replies := one.DoMulti(ctx,
			client.B().Watch().Key("k1", "k2").Build(), client.B().Multi().Build(),
			client.B().Incr().Key("k1").Build(), client.B().Incr().Key("k2").Build(), client.B().Exec().Build())
		equal(get(replies[4].AsIntSlice()), []int64{2, 3})
		return nil
	}))
	double := rueidis.NewLuaScript(`return redis.call("GET", KEYS[1]) * 2`)
	equal(get(double.Exec(ctx, client, []string{"k7"}, nil).AsInt64()), int64(14))
	heard := make(chan string, 100)
	listening, stop := context.WithCancel(ctx)
	defer stop()
	go client.Receive(listening, client.B().Subscribe().Channel("news").Build(), func(message rueidis.PubSubMessage) { heard <- message.Message })
	for {
		must(client.Do(ctx, client.B().Publish().Channel("news").Message("x").Build()).Error())
		select {
		case message := <-heard:
			equal(message, "x")
			return
		case <-ctx.Done():
			must(ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func rueidisCluster(ctx context.Context, at *place) {
	client := get(rueidis.NewClient(rueidis.ClientOption{InitAddress: at.seeds, DisableCache: true}))
	at.later(client.Close)
	var commands rueidis.Commands
	keys := make([]string, 100)
	for n := range keys {
		keys[n] = fmt.Sprintf("k%d", n)
		commands = append(commands, client.B().Set().Key(keys[n]).Value(fmt.Sprint(n)).Build())
	}
	for _, reply := range client.DoMulti(ctx, commands...) {
		must(reply.Error())
	}
	read := get(rueidis.MGet(client, ctx, keys))
	for n, key := range keys {
		value := read[key]
		equal(get(value.ToString()), fmt.Sprint(n))
	}
	equal(get(client.Do(ctx, client.B().Incr().Key("k7").Build()).AsInt64()), int64(8))
}
