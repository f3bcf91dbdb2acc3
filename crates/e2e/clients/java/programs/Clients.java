// Clients by themselves, as their makers' first pages have them: Jedis, Lettuce; and Bucket4j, which needs no more than one.

import io.github.bucket4j.Bucket;
import io.github.bucket4j.BucketConfiguration;
import io.github.bucket4j.distributed.ExpirationAfterWriteStrategy;
import io.github.bucket4j.redis.lettuce.Bucket4jLettuce;
import io.lettuce.core.LettuceFutures;
import io.lettuce.core.ReadFrom;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScanArgs;
import io.lettuce.core.ScanIterator;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SetArgs;
import io.lettuce.core.TransactionResult;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.api.sync.RedisAdvancedClusterCommands;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import reactor.core.publisher.Flux;
import redis.clients.jedis.AbstractPipeline;
import redis.clients.jedis.AbstractTransaction;
import redis.clients.jedis.JedisPubSub;
import redis.clients.jedis.Response;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.params.SetParams;

final class Clients {
    static final Programs.Program[] PROGRAMS = {
        new Programs.Program("Jedis", "strings and hashes: SET with its options, MGET, HSET, HINCRBY, HEXPIRE, scanIteration", Clients::jedis),
        new Programs.Program("Jedis", "pipelined(); multi(), keys anywhere; WATCH", Clients::jedisTransactions),
        new Programs.Program("Jedis", "a script of keys of several slots; pub/sub in a thread", Clients::jedisScripts),
        new Programs.Program("Jedis, cluster", "single keys, a pipeline over slots, a script, MSETNX and MGET of one slot", Clients::jedisCluster),
        new Programs.Program("Lettuce", "strings and hashes: SET with its options, MGET, HSET of a map, SCAN iterator", Clients::lettuce),
        new Programs.Program("Lettuce", "asynchronous: a batch that is flushed at once; reactive", Clients::lettuceAsynchronous),
        new Programs.Program("Lettuce", "MULTI, keys anywhere; WATCH; a script; pub/sub", Clients::lettuceTransactions),
        new Programs.Program("Lettuce, cluster", "single keys, MSET, MGET and DEL over slots, SCAN and DBSIZE of all masters", Clients::lettuceCluster),
        new Programs.Program("Lettuce, cluster", "reads of copies (replica preferred)", Clients::lettuceCopies),
        new Programs.Program("Bucket4j", "a bucket over Lettuce: consumed, refused, filled again", Clients::bucket4j),
    };

    private Clients() {}

    private static UnifiedJedis jedisAt(Programs.Place at) {
        return at.open(redis.clients.jedis.RedisClient.create(at.node()));
    }

    private static void jedis(Programs.Place at) {
        UnifiedJedis client = jedisAt(at);
        Programs.equal(client.set("a", "1", SetParams.setParams().nx().ex(100)), "OK");
        Programs.equal(client.set("a", "2", SetParams.setParams().nx()), null);
        Programs.equal(client.incrBy("a", 4), 5L);
        List<String> values = client.mget("a", "nothing");
        Programs.equal(values.get(0), "5");
        Programs.equal(values.get(1), null);
        Programs.equal(client.hset("h", Map.of("name", "ann", "age", "41")), 2L);
        Programs.equal(client.hincrBy("h", "age", 1), 42L);
        Programs.equal(client.hexpire("h", 100, "age"), List.of(1L));
        for (int n = 0; n < 100; n++) {
            client.set("s:" + n, "" + n);
        }
        Set<String> seen = new HashSet<>();
        client.scanIteration(20, "s:*").collect(seen);
        Programs.equal(seen.size(), 100);
    }

    private static void jedisTransactions(Programs.Place at) {
        UnifiedJedis client = jedisAt(at);
        try (AbstractPipeline pipeline = client.pipelined()) {
            List<Response<Long>> counts = new ArrayList<>();
            for (int n = 0; n < 1000; n++) {
                counts.add(pipeline.incr("k" + n % 10));
            }
            pipeline.sync();
            Programs.equal(counts.get(999).get(), 100L);
        }
        try (AbstractTransaction transaction = client.multi()) {
            transaction.set("a", "1");
            Response<Long> count = transaction.incr("b");
            transaction.hset("c", "f", "v");
            Programs.equal(transaction.exec(), List.of("OK", 1L, 1L));
            Programs.equal(count.get(), 1L);
        }
        try (AbstractTransaction transaction = client.transaction(false)) {
            transaction.watch("a");
            client.set("a", "2");
            transaction.multi();
            transaction.set("b", "9");
            Programs.equal(transaction.exec(), null);
        }
        Programs.equal(client.get("b"), "1");
    }

    private static void jedisScripts(Programs.Place at) throws InterruptedException {
        UnifiedJedis client = jedisAt(at);
        String move = "redis.call('DECRBY', KEYS[1], ARGV[1]) return redis.call('INCRBY', KEYS[2], ARGV[1])";
        Programs.equal(client.eval(move, List.of("from", "to"), List.of("4")), 4L);
        Programs.equal(client.evalsha(client.scriptLoad(move), List.of("from", "to"), List.of("6")), 10L);
        BlockingQueue<String> heard = new LinkedBlockingQueue<>();
        JedisPubSub listener = new JedisPubSub() {
            @Override
            public void onSubscribe(String channel, int count) {
                heard.add("subscribed to " + channel);
            }

            @Override
            public void onMessage(String channel, String message) {
                heard.add(message);
                unsubscribe();
            }
        };
        Thread thread = new Thread(() -> client.subscribe(listener, "news"));
        thread.start();
        Programs.equal(heard.poll(30, TimeUnit.SECONDS), "subscribed to news");
        Programs.equal(client.publish("news", "x"), 1L);
        Programs.equal(heard.poll(30, TimeUnit.SECONDS), "x");
        thread.join();
    }

    private static void jedisCluster(Programs.Place at) {
        UnifiedJedis client = at.open(redis.clients.jedis.RedisClusterClient.create(at.seeds()));
        try (AbstractPipeline pipeline = client.pipelined()) {
            for (int n = 0; n < 100; n++) {
                pipeline.set("k" + n, "" + n);
            }
            pipeline.sync();
        }
        for (int n = 0; n < 100; n++) {
            Programs.equal(client.incr("k" + n), n + 1L);
        }
        Programs.equal(client.eval("return redis.call('GET', KEYS[1])", List.of("k7"), List.of()), "8");
        Programs.equal(client.msetnx("{t}a", "1", "{t}b", "2"), 1L);
        Programs.equal(client.mget("{t}a", "{t}b"), List.of("1", "2"));
    }

    private static RedisClient lettuceAt(Programs.Place at) {
        return at.open(RedisClient.create(RedisURI.create(at.node().getHost(), at.node().getPort())));
    }

    private static void lettuce(Programs.Place at) {
        RedisCommands<String, String> client = lettuceAt(at).connect().sync();
        Programs.equal(client.set("a", "1", SetArgs.Builder.nx().ex(100)), "OK");
        Programs.equal(client.set("a", "2", SetArgs.Builder.nx()), null);
        Programs.equal(client.incrby("a", 4), 5L);
        Programs.equal(client.mget("a", "nothing").get(0).getValue(), "5");
        Programs.check(!client.mget("a", "nothing").get(1).hasValue());
        Programs.equal(client.hset("h", Map.of("name", "ann", "age", "41")), 2L);
        Programs.equal(client.hgetall("h"), Map.of("name", "ann", "age", "41"));
        Programs.equal(client.hexpire("h", 100, "age"), List.of(1L));
        for (int n = 0; n < 100; n++) {
            client.set("s:" + n, "" + n);
        }
        Set<String> seen = ScanIterator.scan(client, ScanArgs.Builder.limit(20).match("s:*")).stream().collect(Collectors.toSet());
        Programs.equal(seen.size(), 100);
    }

    private static void lettuceAsynchronous(Programs.Place at) throws Exception {
        RedisClient client = lettuceAt(at);
        StatefulRedisConnection<String, String> connection = client.connect();
        RedisAsyncCommands<String, String> commands = connection.async();
        connection.setAutoFlushCommands(false);
        List<RedisFuture<Long>> counts = new ArrayList<>();
        for (int n = 0; n < 1000; n++) {
            counts.add(commands.incr("k" + n % 10));
        }
        connection.flushCommands();
        Programs.check(LettuceFutures.awaitAll(Duration.ofSeconds(30), counts.toArray(new RedisFuture<?>[0])));
        Programs.equal(counts.get(999).get(), 100L);
        var reactive = client.connect().reactive();
        Long sum = Flux.range(0, 10).flatMap(n -> reactive.get("k" + n)).map(Long::parseLong).reduce(Long::sum).block(Duration.ofSeconds(30));
        Programs.equal(sum, 1000L);
    }

    private static void lettuceTransactions(Programs.Place at) throws InterruptedException {
        RedisClient client = lettuceAt(at);
        RedisCommands<String, String> commands = client.connect().sync();
        commands.multi();
        commands.set("a", "1");
        commands.incr("b");
        commands.hset("c", "f", "v");
        TransactionResult result = commands.exec();
        Programs.equal(result.stream().toList(), List.of("OK", 1L, true));
        commands.watch("a");
        client.connect().sync().set("a", "2");
        commands.multi();
        commands.set("b", "9");
        Programs.check(commands.exec().wasDiscarded());
        String move = "redis.call('DECRBY', KEYS[1], ARGV[1]) return redis.call('INCRBY', KEYS[2], ARGV[1])";
        Programs.equal(commands.eval(move, ScriptOutputType.INTEGER, new String[] {"from", "to"}, "4"), 4L);
        Programs.equal(commands.evalsha(commands.scriptLoad(move), ScriptOutputType.INTEGER, new String[] {"from", "to"}, "6"), 10L);
        BlockingQueue<String> heard = new LinkedBlockingQueue<>();
        StatefulRedisPubSubConnection<String, String> listener = client.connectPubSub();
        listener.addListener(new RedisPubSubAdapter<>() {
            @Override
            public void message(String channel, String message) {
                heard.add(message);
            }
        });
        listener.sync().subscribe("news");
        commands.publish("news", "x");
        Programs.equal(heard.poll(30, TimeUnit.SECONDS), "x");
    }

    private static StatefulRedisClusterConnection<String, String> lettuceClusterAt(Programs.Place at) {
        List<RedisURI> seeds = at.seeds().stream().map(it -> RedisURI.create(it.getHost(), it.getPort())).toList();
        return at.open(RedisClusterClient.create(seeds)).connect();
    }

    private static void lettuceCluster(Programs.Place at) {
        RedisAdvancedClusterCommands<String, String> client = lettuceClusterAt(at).sync();
        Map<String, String> values = new HashMap<>();
        for (int n = 0; n < 100; n++) {
            values.put("k" + n, "" + n);
        }
        String[] keys = values.keySet().toArray(new String[0]);
        Programs.equal(client.mset(values), "OK");
        client.mget(keys).forEach(it -> Programs.equal(it.getValue(), values.get(it.getKey())));
        Programs.equal(client.incr("k7"), 8L);
        Programs.equal(client.dbsize(), 100L);
        Programs.equal(ScanIterator.scan(client).stream().collect(Collectors.toSet()), values.keySet());
        Programs.equal(client.del(keys), 100L);
    }

    private static void lettuceCopies(Programs.Place at) {
        StatefulRedisClusterConnection<String, String> connection = lettuceClusterAt(at);
        connection.setReadFrom(ReadFrom.REPLICA_PREFERRED);
        for (int n = 0; n < 50; n++) {
            connection.sync().set("k" + n, "" + n);
            Programs.equal(connection.sync().get("k" + n), "" + n);
        }
    }

    private static void bucket4j(Programs.Place at) throws InterruptedException {
        var buckets = Bucket4jLettuce.casBasedBuilder(lettuceAt(at))
            .expirationAfterWrite(ExpirationAfterWriteStrategy.basedOnTimeForRefillingBucketUpToMax(Duration.ofSeconds(10)))
            .build();
        var limit = BucketConfiguration.builder().addLimit(it -> it.capacity(3).refillGreedy(3, Duration.ofMinutes(1))).build();
        Bucket bucket = buckets.builder().build("ann".getBytes(StandardCharsets.UTF_8), () -> limit);
        Programs.check(bucket.tryConsume(1) && bucket.tryConsume(2) && !bucket.tryConsume(1));
        Programs.check(bucket.tryConsumeAndReturnRemaining(1).getNanosToWaitForRefill() > 0);
        var quick = BucketConfiguration.builder().addLimit(it -> it.capacity(1).refillGreedy(1, Duration.ofMillis(50))).build();
        Bucket waiting = buckets.builder().build("bob".getBytes(StandardCharsets.UTF_8), () -> quick);
        Programs.check(waiting.tryConsume(1) && waiting.asBlocking().tryConsume(1, Duration.ofSeconds(30)));
    }
}
