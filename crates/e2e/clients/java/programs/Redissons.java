// Redisson: its objects, each over scripts and channels of its own.

import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.redisson.Redisson;
import org.redisson.api.RBatch;
import org.redisson.api.RBucket;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RFuture;
import org.redisson.api.RLock;
import org.redisson.api.RMap;
import org.redisson.api.RMapCacheNative;
import org.redisson.api.RRateLimiter;
import org.redisson.api.RReadWriteLock;
import org.redisson.api.RSemaphore;
import org.redisson.api.RTopic;
import org.redisson.api.RateType;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.IntegerCodec;
import org.redisson.client.codec.StringCodec;
import org.redisson.codec.CompositeCodec;
import org.redisson.config.Config;

final class Redissons {
    static final Programs.Program[] PROGRAMS = {
        new Programs.Program("Redisson", "RBucket, of many, compareAndSet, getAndDelete; RAtomicLong; RBitSet; RKeys", Redissons::buckets),
        new Programs.Program("Redisson", "RMap: put, putIfAbsent, addAndGet, replace, iteration, remove; a map whose entries expire", Redissons::maps),
        new Programs.Program("Redisson", "RLock: held again by its thread, waited for over a channel, kept alive, unlocked", Redissons::locks),
        new Programs.Program("Redisson", "RReadWriteLock, RSemaphore, RCountDownLatch", Redissons::synchronizers),
        new Programs.Program("Redisson", "RBatch, alone and atomic; RTopic, RPatternTopic", Redissons::batches),
        new Programs.Program("Redisson, cluster", "RBucket, RMap and RLock of many names", Redissons::cluster),
        new Programs.Program("Redisson", "RRateLimiter: its permits are in a sorted set", "ZADD", Redissons::rates),
        new Programs.Program("Redisson", "RMapCache: a map whose entries expire, by sorted sets", "ZADD", Redissons::mapCache),
        new Programs.Program("Redisson", "RFairLock: those who wait are in a list", "LINDEX", Redissons::fairLock),
        new Programs.Program("Redisson", "RList, RQueue", "RPUSH", Redissons::lists),
        new Programs.Program("Redisson", "RSet", "SADD", Redissons::sets),
    };

    private Redissons() {}

    private static RedissonClient at(Programs.Place at) {
        Config config = new Config();
        config.useSingleServer().setAddress("redis://" + at.node()).setConnectionMinimumIdleSize(2).setConnectionPoolSize(8);
        RedissonClient client = Redisson.create(config);
        at.open(client::shutdown);
        return client;
    }

    private static void buckets(Programs.Place at) {
        RedissonClient client = at(at);
        RBucket<Map<String, Integer>> bucket = client.getBucket("a");
        bucket.set(Map.of("x", 1), Duration.ofSeconds(100));
        Programs.check(!bucket.setIfAbsent(Map.of()) && bucket.remainTimeToLive() > 0);
        Programs.check(bucket.compareAndSet(Map.of("x", 1), Map.of("x", 2)) && !bucket.compareAndSet(Map.of("x", 1), Map.of("x", 3)));
        Programs.equal(bucket.getAndDelete(), Map.of("x", 2));
        client.getBuckets(StringCodec.INSTANCE).set(Map.of("b", "1", "c", "2"));
        Programs.equal(client.getBuckets(StringCodec.INSTANCE).get("b", "c", "nothing"), Map.of("b", "1", "c", "2"));
        Programs.check(!client.getBuckets(StringCodec.INSTANCE).trySet(Map.of("c", "3", "d", "3")));
        Programs.equal(client.getAtomicLong("n").addAndGet(5), 5L);
        Programs.check(client.getAtomicLong("n").compareAndSet(5, 7) && !client.getBitSet("bits").set(7) && client.getBitSet("bits").get(7));
        HashSet<String> seen = new HashSet<>();
        client.getKeys().getKeys().forEach(seen::add);
        Programs.equal(seen, new HashSet<>(List.of("b", "c", "n", "bits")));
        Programs.equal(client.getKeys().deleteByPattern("?"), 3L);
    }

    private static void maps(Programs.Place at) throws InterruptedException {
        RedissonClient client = at(at);
        RMap<String, Integer> ages = client.getMap("ages", new CompositeCodec(StringCodec.INSTANCE, IntegerCodec.INSTANCE));
        Programs.equal(ages.put("ann", 41), null);
        Programs.equal(ages.put("ann", 42), 41);
        Programs.equal(ages.putIfAbsent("ann", 1), 42);
        Programs.equal(ages.addAndGet("ann", 1), 43);
        Programs.check(ages.replace("ann", 43, 44) && !ages.replace("ann", 43, 45) && ages.fastPut("bob", 7));
        Programs.equal(ages.readAllMap(), Map.of("ann", 44, "bob", 7));
        Programs.equal(ages.merge("bob", 1, Integer::sum), 8);
        int sum = 0;
        for (Map.Entry<String, Integer> entry : ages.entrySet()) {
            sum += entry.getValue();
        }
        Programs.equal(sum, 52);
        Programs.check(ages.remove("bob", 8) && ages.size() == 1);
        RMapCacheNative<String, String> tokens = client.getMapCacheNative("tokens");
        tokens.put("short", "x", Duration.ofMillis(20));
        tokens.put("long", "y", Duration.ofSeconds(100));
        while (tokens.containsKey("short")) {
            Thread.sleep(5);
        }
        Programs.equal(tokens.readAllMap(), Map.of("long", "y"));
    }

    private static void locks(Programs.Place at) throws InterruptedException {
        RedissonClient client = at(at);
        RLock lock = client.getLock("job");
        lock.lock();
        lock.lock();
        Programs.equal(lock.getHoldCount(), 2);
        Programs.check(lock.remainTimeToLive() > 10_000);
        lock.unlock();
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        CountDownLatch done = new CountDownLatch(4);
        for (int n = 0; n < 4; n++) {
            new Thread(() -> {
                try {
                    if (client.getLock("job").tryLock(30, 30, TimeUnit.SECONDS)) {
                        most.accumulateAndGet(inside.incrementAndGet(), Math::max);
                        inside.decrementAndGet();
                        client.getLock("job").unlock();
                        done.countDown();
                    }
                } catch (InterruptedException ended) {
                    Thread.currentThread().interrupt();
                }
            }).start();
        }
        Programs.check(!done.await(50, TimeUnit.MILLISECONDS) && done.getCount() == 4);
        lock.unlock();
        Programs.check(done.await(30, TimeUnit.SECONDS) && most.get() == 1 && !lock.isLocked());
        Programs.check(Programs.fails(() -> {
            lock.unlock();
            return null;
        }));
        RLock both = client.getMultiLock(client.getLock("left"), client.getLock("right"));
        Programs.check(both.tryLock(10, 10, TimeUnit.SECONDS));
        both.unlock();
    }

    private static void synchronizers(Programs.Place at) throws InterruptedException {
        RedissonClient client = at(at);
        RReadWriteLock lock = client.getReadWriteLock("book");
        lock.readLock().lock(30, TimeUnit.SECONDS);
        Thread other = new Thread(() -> {
            Programs.check(lock.readLock().tryLock() && !lock.writeLock().tryLock());
            lock.readLock().unlock();
        });
        other.start();
        other.join();
        lock.readLock().unlock();
        Programs.check(lock.writeLock().tryLock());
        lock.writeLock().unlock();
        RSemaphore seats = client.getSemaphore("seats");
        Programs.check(seats.trySetPermits(2) && seats.tryAcquire(2) && !seats.tryAcquire());
        Thread waiting = new Thread(() -> {
            try {
                seats.acquire();
            } catch (InterruptedException ended) {
                Thread.currentThread().interrupt();
            }
        });
        waiting.start();
        seats.release(2);
        waiting.join(30_000);
        Programs.equal(seats.availablePermits(), 1);
        RCountDownLatch latch = client.getCountDownLatch("start");
        Programs.check(latch.trySetCount(1) && !latch.await(1, TimeUnit.MILLISECONDS));
        new Thread(latch::countDown).start();
        Programs.check(latch.await(30, TimeUnit.SECONDS));
    }

    private static void batches(Programs.Place at) throws Exception {
        RedissonClient client = at(at);
        RBatch batch = client.createBatch();
        for (int n = 0; n < 100; n++) {
            batch.getBucket("k" + n).setAsync(n);
        }
        batch.execute();
        RBatch atomic = client.createBatch(org.redisson.api.BatchOptions.defaults()
            .executionMode(org.redisson.api.BatchOptions.ExecutionMode.IN_MEMORY_ATOMIC));
        RFuture<Long> count = atomic.getAtomicLong("a").incrementAndGetAsync();
        atomic.getMap("b").fastPutAsync("f", "v");
        Programs.equal(atomic.execute().getResponses().size(), 2);
        Programs.equal(count.get(), 1L);
        BlockingQueue<String> heard = new LinkedBlockingQueue<>();
        RTopic topic = client.getTopic("news");
        topic.addListener(String.class, (channel, message) -> heard.add(message));
        client.getPatternTopic("n*").addListener(String.class, (pattern, channel, message) -> heard.add(message));
        Programs.equal(topic.publish("x"), 2L);
        Programs.equal(heard.poll(30, TimeUnit.SECONDS), "x");
        Programs.equal(heard.poll(30, TimeUnit.SECONDS), "x");
    }

    private static void cluster(Programs.Place at) {
        Config config = new Config();
        var servers = config.useClusterServers().setMasterConnectionMinimumIdleSize(2).setSlaveConnectionMinimumIdleSize(2);
        at.seeds().forEach(it -> servers.addNodeAddress("redis://" + it));
        RedissonClient client = Redisson.create(config);
        at.open(client::shutdown);
        for (int n = 0; n < 20; n++) {
            client.getBucket("b" + n).set(n);
            Programs.equal(client.getBucket("b" + n).get(), n);
            Programs.equal(client.getMap("m" + n).put("f", n), null);
            Programs.equal(client.getMap("m" + n).readAllMap(), Map.of("f", n));
            RLock lock = client.getLock("l" + n);
            Programs.check(lock.tryLock());
            lock.unlock();
        }
        // A lock leaves a key for a moment.
        Programs.equal(client.getKeys().deleteByPattern("b*") + client.getKeys().deleteByPattern("m*"), 40L);
    }

    private static void rates(Programs.Place at) {
        RRateLimiter limit = at(at).getRateLimiter("calls");
        Programs.check(limit.trySetRate(RateType.OVERALL, 3, Duration.ofMinutes(1)));
        Programs.check(limit.tryAcquire(3) && !limit.tryAcquire());
    }

    private static void mapCache(Programs.Place at) {
        var tokens = at(at).getMapCache("tokens");
        tokens.put("ann", "x", 100, TimeUnit.SECONDS);
        Programs.equal(tokens.get("ann"), "x");
    }

    private static void fairLock(Programs.Place at) {
        RLock lock = at(at).getFairLock("job");
        Programs.check(lock.tryLock());
        lock.unlock();
    }

    private static void lists(Programs.Place at) {
        RedissonClient client = at(at);
        Programs.check(client.getList("numbers").add(1) && client.getQueue("jobs").offer("job"));
        Programs.equal(client.getQueue("jobs").poll(), "job");
    }

    private static void sets(Programs.Place at) {
        Programs.check(at(at).getSet("numbers").add(1));
    }
}
