// Jedis through a node kill; see ../README.md.

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.TrustManagerFactory;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.JedisCluster;
import redis.clients.jedis.JedisPubSub;
import redis.clients.jedis.exceptions.JedisException;

public final class Workload {
    private static final long PATIENCE_NANOS = 60_000_000_000L;
    private static final int COUNTERS = 10;
    private static final int DELETED_AFTER = 20;
    private static final int KEYS = 300;
    private static final String INCREMENT = "return redis.call('incr', KEYS[1])";

    private final Set<HostAndPort> seeds;
    private final JedisClientConfig config;
    private JedisCluster client;
    private int failures;
    /** What this client sends to all nodes it sends to one that is gone, too, until it is opened anew, which is what pools do. */
    private boolean opensAnew;

    private Workload(Set<HostAndPort> seeds, JedisClientConfig config) {
        this.seeds = seeds;
        this.config = config;
    }

    /** A user, and TLS, if the test names them. */
    private static JedisClientConfig config(boolean readsReplicas) throws GeneralSecurityException, IOException {
        DefaultJedisClientConfig.Builder config = DefaultJedisClientConfig.builder();
        if (readsReplicas) {
            config.readOnlyForRedisClusterReplicas();
        }
        config.user(System.getenv("WORKLOAD_USER")).password(System.getenv("WORKLOAD_PASSWORD"));
        String authority = System.getenv("WORKLOAD_CA");
        if (authority == null) {
            return config.build();
        }
        char[] none = new char[0];
        KeyStore believed = KeyStore.getInstance(KeyStore.getDefaultType());
        believed.load(null, none);
        believed.setCertificateEntry("authority", certificate(authority));
        KeyStore shown = KeyStore.getInstance(KeyStore.getDefaultType());
        shown.load(null, none);
        Certificate[] chain = {certificate(System.getenv("WORKLOAD_CERT"))};
        shown.setKeyEntry("own", key(System.getenv("WORKLOAD_KEY")), none, chain);
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(believed);
        KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(shown, none);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
        // Without it the certificate's name is not looked at.
        SSLParameters parameters = new SSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        config.ssl(true).sslSocketFactory(context.getSocketFactory()).sslParameters(parameters);
        return config.build();
    }

    private static Certificate certificate(String path) throws GeneralSecurityException, IOException {
        byte[] bytes = Files.readAllBytes(Path.of(path));
        return CertificateFactory.getInstance("X.509").generateCertificate(new ByteArrayInputStream(bytes));
    }

    private static PrivateKey key(String path) throws GeneralSecurityException, IOException {
        String text = Files.readString(Path.of(path)).replaceAll("-----[^-]*-----|\\s", "");
        return KeyFactory.getInstance("EC").generatePrivate(new PKCS8EncodedKeySpec(Base64.getDecoder().decode(text)));
    }

    private <T> T call(Function<JedisCluster, T> request) throws InterruptedException {
        long begin = System.nanoTime();
        while (true) {
            try {
                if (client == null) {
                    client = new JedisCluster(seeds, config);
                }
                return request.apply(client);
            } catch (JedisException error) {
                failures++;
                if (System.nanoTime() - begin > PATIENCE_NANOS) {
                    throw error;
                }
                openAnew();
                System.out.println("again: " + error.getMessage());
                Thread.sleep(20);
            }
        }
    }

    private static void check(String what, Object seen, Object wanted) {
        if (!Objects.equals(seen, wanted)) {
            throw new IllegalStateException(what + ": got " + seen + ", acknowledged was " + wanted);
        }
    }

    /** Asks again until the answer is the wanted one: while partitions change hands a scan may miss some, as with Redis. */
    private <T> void until(String what, Function<JedisCluster, T> request, T wanted) throws InterruptedException {
        long begin = System.nanoTime();
        while (true) {
            T seen = call(request);
            if (Objects.equals(seen, wanted)) {
                return;
            }
            if (System.nanoTime() - begin > PATIENCE_NANOS) {
                throw new IllegalStateException(what + ": got " + seen + ", wanted " + wanted);
            }
            String shown = String.valueOf(seen);
            System.out.println("again: " + what + ": " + shown.substring(0, Math.min(60, shown.length())));
            openAnew();
            Thread.sleep(20);
        }
    }

    /** Deletes all keys, as a client finds it that knows today's masters. */
    private void empty() throws InterruptedException {
        long begin = System.nanoTime();
        while (true) {
            call(JedisCluster::flushAll);
            openAnew();
            Set<String> left = call(Workload::scanned);
            if (left.isEmpty()) {
                return;
            }
            if (System.nanoTime() - begin > PATIENCE_NANOS) {
                throw new IllegalStateException("after FLUSHALL there are " + left.size() + " keys");
            }
            System.out.println("again: FLUSHALL: " + left.size());
            Thread.sleep(20);
        }
    }

    private void openAnew() {
        if (opensAnew && client != null) {
            client.close();
            client = null;
        }
    }

    private static Set<String> scanned(JedisCluster client) {
        return new HashSet<>(client.scanIteration(20, "*").collect(new HashSet<>()));
    }

    /** The whole keyspace, round after round. */
    private static void keyspace(Set<HostAndPort> seeds, Path stop)
            throws InterruptedException, GeneralSecurityException, IOException {
        Workload writer = new Workload(seeds, config(false));
        Workload reader = new Workload(seeds, config(true));
        writer.opensAnew = true;
        int number = 0;
        for (; !Files.exists(stop); number++) {
            Set<String> names = new HashSet<>();
            for (int at = 0; at < KEYS; at++) {
                names.add("k:" + number + ":" + at);
            }
            writer.empty();
            for (String name : names) {
                writer.call(it -> it.set(name, name));
            }
            writer.until("SCAN", Workload::scanned, names);
            for (String name : names) {
                reader.until("GET of a replica", it -> it.get(name), name);
            }
            System.out.println("round " + number);
        }
        System.out.println("done: " + number + " rounds, " + (writer.failures + reader.failures) + " calls repeated");
        writer.client.close();
        reader.client.close();
    }

    /** Listens to a channel, anew whenever its node is gone. */
    private Set<String> listening() {
        Set<String> heard = ConcurrentHashMap.newKeySet();
        JedisPubSub listener = new JedisPubSub() {
            @Override
            public void onMessage(String channel, String message) {
                heard.add(message);
            }
        };
        Thread thread = new Thread(() -> {
            while (true) {
                try (JedisCluster own = new JedisCluster(seeds, config)) {
                    own.subscribe(listener, "news");
                } catch (JedisException error) {
                    System.out.println("again: " + error.getMessage());
                }
            }
        });
        thread.setDaemon(true);
        thread.start();
        return heard;
    }

    /** Publishes until that was heard. */
    private void hears(Set<String> heard, String message) throws InterruptedException {
        long begin = System.nanoTime();
        while (!heard.contains(message)) {
            if (System.nanoTime() - begin > PATIENCE_NANOS) {
                throw new IllegalStateException("nothing is heard of " + message);
            }
            call(it -> it.publish("news", message));
            Thread.sleep(20);
        }
    }

    private void run(
            Path stop,
            Map<String, String> values,
            Map<String, Long> counters,
            Map<String, Map<String, String>> hashes)
            throws InterruptedException {
        for (int number = 0; !Files.exists(stop); number++) {
            String key = "s:" + number;
            String value = Integer.toString(number);
            check("SET " + key, call(it -> it.set(key, value)), "OK");
            values.put(key, value);
            check("GET " + key, call(it -> it.get(key)), value);
            String counter = "c:" + number % COUNTERS;
            boolean isScript = number % 2 == 1;
            long counted = call(it -> isScript ? (Long) it.eval(INCREMENT, 1, counter) : it.incr(counter));
            long before = counters.getOrDefault(counter, 0L);
            if (counted <= before) {
                throw new IllegalStateException("INCR " + counter + ": got " + counted + " after " + before);
            }
            counters.put(counter, counted);
            String hashed = "h:" + number % COUNTERS;
            String field = "f" + number % 7;
            call(it -> it.hset(hashed, field, value));
            hashes.computeIfAbsent(hashed, it -> new HashMap<>()).put(field, value);
            check("HGETALL " + hashed, call(it -> it.hgetAll(hashed)), hashes.get(hashed));
            // This client refuses an MGET over several slots by itself, so there is none.
            String old = "s:" + (number - DELETED_AFTER);
            if (number % 5 == 0 && values.containsKey(old)) {
                call(it -> it.del(old));
                values.put(old, null);
                check("GET " + old, call(it -> it.get(old)), null);
            }
            System.out.println("round " + number);
        }
    }

    public static void main(String[] arguments)
            throws InterruptedException, GeneralSecurityException, IOException {
        boolean isKeyspace = arguments[0].equals("keyspace");
        int first = isKeyspace ? 1 : 0;
        Set<HostAndPort> seeds = new HashSet<>();
        for (String seed : arguments[first].split(",")) {
            seeds.add(HostAndPort.from(seed));
        }
        Path stop = Path.of(arguments[first + 1]);
        if (isKeyspace) {
            keyspace(seeds, stop);
            return;
        }
        JedisClientConfig config = config(false);
        Map<String, String> values = new LinkedHashMap<>();
        Map<String, Long> counters = new HashMap<>();
        Map<String, Map<String, String>> hashes = new HashMap<>();
        Workload workload = new Workload(seeds, config);
        Set<String> heard = workload.listening();
        workload.hears(heard, "first");
        workload.run(stop, values, counters, hashes);
        workload.hears(heard, "last");
        Workload fresh = new Workload(seeds, config);
        for (Map.Entry<String, String> entry : values.entrySet()) {
            String key = entry.getKey();
            check("in the end, " + key, fresh.call(it -> it.get(key)), entry.getValue());
        }
        for (Map.Entry<String, Map<String, String>> entry : hashes.entrySet()) {
            String key = entry.getKey();
            check("in the end, " + key, fresh.call(it -> it.hgetAll(key)), entry.getValue());
        }
        for (Map.Entry<String, Long> entry : counters.entrySet()) {
            String key = entry.getKey();
            String seen = fresh.call(it -> it.get(key));
            if (seen == null || Long.parseLong(seen) < entry.getValue()) {
                throw new IllegalStateException(
                        "in the end, " + key + ": got " + seen + ", acknowledged was " + entry.getValue());
            }
        }
        System.out.println("done: " + values.size() + " values, " + workload.failures + " calls repeated");
        workload.client.close();
        fresh.client.close();
    }
}
