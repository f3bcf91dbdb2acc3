package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"time"

	"github.com/alexedwards/scs/goredisstore"
	"github.com/alexedwards/scs/v2"
	"github.com/boj/redistore"
	"github.com/bsm/redislock"
	"github.com/go-redis/cache/v9"
	"github.com/go-redis/redis_rate/v10"
	"github.com/go-redsync/redsync/v4"
	redsyncpool "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/hibiken/asynq"
	"github.com/ulule/limiter/v3"
	limitstore "github.com/ulule/limiter/v3/drivers/store/redis"
)

// libraries on top of clients: limits, locks, caches, sessions, queues.
var libraries = []program{
	{"redis_rate", "Allow, AllowN, AllowAtMost, Reset: GCRA in a script", "", redisRate},
	{"redis_rate, cluster", "Allow of many users", "", redisRateCluster},
	{"ulule/limiter", "Get, Peek, Reset", "", ululeLimiter},
	{"redsync", "Lock, refused to another, Extend, Unlock; goroutines one after another", "", redsyncLock},
	{"redislock", "Obtain, refused to another, TTL, Refresh, Release, waiting", "", redisLock},
	{"go-redis/cache", "Once makes a value once, Set, Get, Exists, Delete", "", goRedisCache},
	{"scs", "a session over requests, a new token at sign-in, its end", "", scsSessions},
	{"gorilla/sessions", "redistore: a session over requests, its end", "", gorillaSessions},
	{"asynq", "a task is sent", "SADD", asynqTask},
}

func redisRate(ctx context.Context, at *place) {
	limiter := redis_rate.NewLimiter(at.client())
	limit := redis_rate.PerMinute(3)
	for left := 2; left >= 0; left-- {
		equal(get(limiter.Allow(ctx, "ann", limit)).Remaining, left)
	}
	refused := get(limiter.Allow(ctx, "ann", limit))
	equal(refused.Allowed, 0)
	check(refused.RetryAfter > 0, "it says when to come again")
	must(limiter.Reset(ctx, "ann"))
	equal(get(limiter.AllowN(ctx, "ann", limit, 2)).Allowed, 2)
	equal(get(limiter.AllowAtMost(ctx, "ann", limit, 5)).Allowed, 1)
}

func redisRateCluster(ctx context.Context, at *place) {
	limiter := redis_rate.NewLimiter(at.cluster())
	for n := 0; n < 20; n++ {
		user := fmt.Sprintf("user%d", n)
		equal(get(limiter.AllowN(ctx, user, redis_rate.PerMinute(3), 3)).Allowed, 3)
		equal(get(limiter.Allow(ctx, user, redis_rate.PerMinute(3))).Allowed, 0)
	}
}

func ululeLimiter(ctx context.Context, at *place) {
	store := get(limitstore.NewStore(at.client()))
	limit := limiter.New(store, limiter.Rate{Period: time.Minute, Limit: 3})
	for n := 0; n < 3; n++ {
		check(!get(limit.Get(ctx, "ann")).Reached, "three are let in")
	}
	check(get(limit.Get(ctx, "ann")).Reached, "a fourth is not")
	equal(get(limit.Peek(ctx, "bob")).Remaining, int64(3))
	get(limit.Reset(ctx, "ann"))
	equal(get(limit.Get(ctx, "ann")).Remaining, int64(2))
}

func redsyncLock(ctx context.Context, at *place) {
	locks := redsync.New(redsyncpool.NewPool(at.client()))
	held := locks.NewMutex("job", redsync.WithExpiry(10*time.Second), redsync.WithTries(1))
	must(held.LockContext(ctx))
	check(locks.NewMutex("job", redsync.WithTries(1)).LockContext(ctx) != nil, "another one is refused")
	check(get(held.ExtendContext(ctx)), "it is extended")
	check(get(held.UnlockContext(ctx)), "it is released")
	var inside atomic.Int32
	done := make(chan error)
	for n := 0; n < 4; n++ {
		go func() {
			mutex := locks.NewMutex("job", redsync.WithTries(1000), redsync.WithRetryDelay(5*time.Millisecond))
			err := mutex.LockContext(ctx)
			if err == nil {
				if inside.Add(1) != 1 {
					err = errors.New("two are inside")
				}
				inside.Add(-1)
				_, unlocked := mutex.UnlockContext(ctx)
				err = errors.Join(err, unlocked)
			}
			done <- err
		}()
	}
	for n := 0; n < 4; n++ {
		must(<-done)
	}
}

func redisLock(ctx context.Context, at *place) {
	locks := redislock.New(at.client())
	held := get(locks.Obtain(ctx, "job", 10*time.Second, nil))
	_, err := locks.Obtain(ctx, "job", 10*time.Second, nil)
	check(errors.Is(err, redislock.ErrNotObtained), "another one is refused")
	check(get(held.TTL(ctx)) > 0, "it has a time")
	must(held.Refresh(ctx, 20*time.Second, nil))
	must(held.Release(ctx))
	check(errors.Is(held.Release(ctx), redislock.ErrLockNotHeld), "it is not held any more")
	many := get(locks.Obtain(ctx, "job", 10*time.Second, &redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Millisecond)}))
	must(many.Release(ctx))
}

func goRedisCache(ctx context.Context, at *place) {
	client := at.client()
	values := cache.New(&cache.Options{Redis: client, LocalCache: cache.NewTinyLFU(100, time.Minute)})
	type square struct{ Number, Square int }
	made := 0
	for n := 0; n < 3; n++ {
		var read square
		must(values.Once(&cache.Item{Ctx: ctx, Key: "square:3", Value: &read, TTL: time.Minute, Do: func(*cache.Item) (any, error) {
			made++
			return &square{3, 9}, nil
		}}))
		equal(read, square{3, 9})
	}
	equal(made, 1)
	var read square
	must(cache.New(&cache.Options{Redis: client}).Get(ctx, "square:3", &read))
	equal(read, square{3, 9})
	must(values.Delete(ctx, "square:3"))
	check(!values.Exists(ctx, "square:3"), "it is gone")
}

// visits lets a browser that keeps its cookies ask for these pages of an application, and gives what it was told.
func visits(at *place, pages http.Handler, paths ...string) []string {
	server := httptest.NewServer(pages)
	at.later(server.Close)
	browser := http.Client{Jar: get(cookiejar.New(nil))}
	var told []string
	for _, path := range paths {
		reply := get(browser.Get(server.URL + path))
		told = append(told, string(get(io.ReadAll(reply.Body))))
		reply.Body.Close()
	}
	return told
}

func scsSessions(ctx context.Context, at *place) {
	client := at.client()
	sessions := scs.New()
	sessions.Store = goredisstore.New(client)
	pages := http.NewServeMux()
	pages.HandleFunc("/visit", func(reply http.ResponseWriter, request *http.Request) {
		count := sessions.GetInt(request.Context(), "visits") + 1
		sessions.Put(request.Context(), "visits", count)
		fmt.Fprint(reply, count)
	})
	pages.HandleFunc("/sign-in", func(_ http.ResponseWriter, request *http.Request) { must(sessions.RenewToken(request.Context())) })
	pages.HandleFunc("/sign-out", func(_ http.ResponseWriter, request *http.Request) { must(sessions.Destroy(request.Context())) })
	told := visits(at, sessions.LoadAndSave(pages), "/visit", "/visit", "/sign-in", "/visit")
	equal(strings.Join(told, " "), "1 2  3")
	keys := get(client.Keys(ctx, "scs:session:*").Result())
	equal(len(keys), 1)
	check(get(client.TTL(ctx, keys[0]).Result()) > 0, "it has a time")
	told = visits(at, sessions.LoadAndSave(pages), "/visit", "/sign-out", "/visit")
	equal(strings.Join(told, " "), "1  1")
}

func gorillaSessions(ctx context.Context, at *place) {
	store := get(redistore.NewRediStore(3, "tcp", at.node, "", "", []byte("of a test")))
	at.later(func() { store.Close() })
	pages := http.NewServeMux()
	pages.HandleFunc("/visit", func(reply http.ResponseWriter, request *http.Request) {
		session := get(store.Get(request, "session"))
		count, _ := session.Values["visits"].(int)
		session.Values["visits"] = count + 1
		must(session.Save(request, reply))
		fmt.Fprint(reply, count+1)
	})
	pages.HandleFunc("/sign-out", func(reply http.ResponseWriter, request *http.Request) {
		session := get(store.Get(request, "session"))
		session.Options.MaxAge = -1
		must(session.Save(request, reply))
	})
	told := visits(at, pages, "/visit", "/visit", "/sign-out", "/visit")
	equal(strings.Join(told, " "), "1 2  1")
	equal(len(get(at.client().Keys(ctx, "session_*").Result())), 1)
}

func asynqTask(ctx context.Context, at *place) {
	client := asynq.NewClient(asynq.RedisClientOpt{Addr: at.node})
	at.later(func() { client.Close() })
	get(client.EnqueueContext(ctx, asynq.NewTask("mail", []byte("ann"))))
}
