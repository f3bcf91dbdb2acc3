// An Infinispan inside this very process, for two questions: how many keys each node has, and what it does under load.
//
// In:  `keys NODES EACH PREFIX...` or `load NODES THREADS SECONDS VALUE_BYTES`.
// Out: a line for each answer, on standard output: words and figures with a blank between them.
//
// `keys` asks the very class that a distributed cache of default settings places its segments with, for nodes with random ids as they have; so a
// hundred nodes cost nothing. `load` starts the nodes, as embedded ones that talk over loopback, with clients in threads inside them.

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import org.infinispan.Cache;
import org.infinispan.configuration.cache.CacheMode;
import org.infinispan.configuration.cache.ConfigurationBuilder;
import org.infinispan.configuration.global.GlobalConfigurationBuilder;
import org.infinispan.distribution.ch.ConsistentHash;
import org.infinispan.distribution.ch.impl.HashFunctionPartitioner;
import org.infinispan.distribution.ch.impl.SyncConsistentHashFactory;
import org.infinispan.manager.DefaultCacheManager;
import org.infinispan.remoting.transport.Address;
import org.infinispan.remoting.transport.jgroups.JGroupsAddress;

public class Grid {
    /** As many as a cache of default settings has. */
    static final int SEGMENTS = 256;

    static final int KEYS_A_NODE = 1000;

    public static void main(String[] words) throws Exception {
        int nodes = Integer.parseInt(words[1]);
        if (words[0].equals("keys")) {
            int each = Integer.parseInt(words[2]);
            for (int at = 3; at < words.length; at++) {
                keys(nodes, each, words[at]);
            }
        } else {
            load(nodes, Integer.parseInt(words[2]), Double.parseDouble(words[3]), Integer.parseInt(words[4]));
        }
        System.out.flush();
        // Threads of its own may still be at work.
        System.exit(0);
    }

    static void keys(int nodes, int each, String prefix) {
        List<Address> members = new ArrayList<>();
        for (int node = 0; node < nodes; node++) {
            members.add(new JGroupsAddress(org.jgroups.util.UUID.randomUUID()));
        }
        ConsistentHash hash = new SyncConsistentHashFactory().create(1, SEGMENTS, members, null);
        HashFunctionPartitioner partitioner = HashFunctionPartitioner.instance(SEGMENTS);
        long[] counts = new long[nodes];
        for (long key = 0; key < (long) nodes * each; key++) {
            int segment = partitioner.getSegment(prefix + key);
            counts[members.indexOf(hash.locatePrimaryOwnerForSegment(segment))]++;
        }
        StringBuilder line = new StringBuilder("counts");
        for (long count : counts) {
            line.append(' ').append(count);
        }
        System.out.println(line);
    }

    static void load(int nodes, int threads, double seconds, int valueBytes) throws Exception {
        List<DefaultCacheManager> managers = new ArrayList<>();
        List<Cache<String, byte[]>> caches = new ArrayList<>();
        for (int node = 0; node < nodes; node++) {
            GlobalConfigurationBuilder global = GlobalConfigurationBuilder.defaultClusteredBuilder();
            global.transport().clusterName("grid").addProperty("configurationFile", "default-configs/default-jgroups-tcp.xml");
            ConfigurationBuilder cache = new ConfigurationBuilder();
            cache.clustering().cacheMode(CacheMode.DIST_SYNC).hash().numOwners(1);
            DefaultCacheManager manager = new DefaultCacheManager(global.build());
            manager.defineConfiguration("grid", cache.build());
            managers.add(manager);
            caches.add(manager.getCache("grid"));
        }
        while (caches.stream().anyMatch(it -> it.getAdvancedCache().getRpcManager().getMembers().size() < nodes)) {
            Thread.sleep(20);
        }
        byte[] value = new byte[valueBytes];
        int keys = nodes * KEYS_A_NODE;
        for (int key = 0; key < keys; key++) {
            caches.get(key % nodes).put("key" + key, value);
        }
        for (String operation : new String[] {"get", "put"}) {
            // The first run lets the compiler see what is hot.
            run(caches, operation, threads, seconds, keys, value);
            long cpuBefore = cpu();
            long begin = System.nanoTime();
            long count = run(caches, operation, threads, seconds, keys, value);
            double wall = (System.nanoTime() - begin) / 1e9;
            double cpuUs = (cpu() - cpuBefore) / 1e3 / Math.max(1, count);
            System.out.println("rate " + operation + " " + count / wall + " " + cpuUs);
        }
    }

    static long run(List<Cache<String, byte[]>> caches, String operation, int threads, double seconds, int keys, byte[] value)
            throws Exception {
        AtomicBoolean isOver = new AtomicBoolean();
        LongAdder done = new LongAdder();
        List<Thread> workers = new ArrayList<>();
        int number = 0;
        for (Cache<String, byte[]> cache : caches) {
            for (int thread = 0; thread < threads; thread++) {
                SplittableRandom random = new SplittableRandom(++number);
                workers.add(start(() -> {
                    while (!isOver.get()) {
                        String key = "key" + random.nextInt(keys);
                        if (operation.equals("get")) {
                            cache.get(key);
                        } else {
                            cache.put(key, value);
                        }
                        done.increment();
                    }
                }));
            }
        }
        Thread.sleep((long) (seconds * 1000));
        isOver.set(true);
        for (Thread worker : workers) {
            worker.join();
        }
        return done.sum();
    }

    static Thread start(Runnable work) {
        Thread thread = new Thread(work);
        thread.start();
        return thread;
    }

    /** Nanoseconds of processor that this process has taken. */
    static long cpu() {
        return ((com.sun.management.OperatingSystemMXBean) java.lang.management.ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }
}
