// Spring: templates, its cache, sessions, and ShedLock, in a small context.

import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;
import org.springframework.cache.CacheManager;
import org.springframework.cache.annotation.CacheEvict;
import org.springframework.cache.annotation.CachePut;
import org.springframework.cache.annotation.Cacheable;
import org.springframework.cache.annotation.EnableCaching;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.dao.DataAccessException;
import org.springframework.data.redis.cache.RedisCacheConfiguration;
import org.springframework.data.redis.cache.RedisCacheManager;
import org.springframework.data.redis.cache.RedisCacheWriter;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.Cursor;
import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.RedisOperations;
import org.springframework.data.redis.core.RedisTemplate;
import org.springframework.data.redis.core.ScanOptions;
import org.springframework.data.redis.core.SessionCallback;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.RedisScript;
import org.springframework.data.redis.serializer.RedisSerializer;
import org.springframework.session.Session;
import org.springframework.session.SessionRepository;
import org.springframework.session.data.redis.RedisIndexedSessionRepository;
import org.springframework.session.data.redis.RedisSessionRepository;

final class Springs {
    static final Programs.Program[] PROGRAMS = {
        new Programs.Program("Spring Data Redis", "a template: values, hashes, a pipeline, a transaction, a script, SCAN", Springs::template),
        new Programs.Program("Spring's cache", "@Cacheable makes a value once, @CachePut, @CacheEvict of one and of all", Springs::cache),
        new Programs.Program("Spring Session", "created, saved, found, changed by two, a new id at sign-in, deleted", Springs::sessions),
        new Programs.Program("Spring Session", "sessions that are found by their user", "SADD", Springs::indexedSessions),
        new Programs.Program("ShedLock", "a task that one of several runs: locked, refused, extended, unlocked", Springs::shedLock),
    };

    /** The address of the place, for the context. */
    private static volatile Programs.Place place;

    private Springs() {}

    /** What is asked of the cache. */
    public interface Squares {
        int of(int number);

        int put(int number, int square);

        void forget(int number);

        void forgetAll();
    }

    /** An application. */
    @Configuration
    @EnableCaching
    public static class Application {
        @Bean
        public RedisConnectionFactory connections() {
            return new LettuceConnectionFactory(place.node().getHost(), place.node().getPort());
        }

        @Bean
        public CacheManager caches(RedisConnectionFactory connections) {
            // Otherwise over Lettuce what is put or cleared may be so a little later.
            return RedisCacheManager.builder(RedisCacheWriter.create(connections, writer -> writer.immediateWrites()))
                .cacheDefaults(RedisCacheConfiguration.defaultCacheConfig().entryTtl(Duration.ofSeconds(100)))
                .build();
        }

        @Bean
        public AtomicInteger made() {
            return new AtomicInteger();
        }

        @Bean
        public Squares squares(AtomicInteger made) {
            return new Squares() {
                @Override
                @Cacheable("squares")
                public int of(int number) {
                    made.incrementAndGet();
                    return number * number;
                }

                @Override
                @CachePut(cacheNames = "squares", key = "#p0")
                public int put(int number, int square) {
                    return square;
                }

                @Override
                @CacheEvict("squares")
                public void forget(int number) {}

                @Override
                @CacheEvict(cacheNames = "squares", allEntries = true)
                public void forgetAll() {}
            };
        }

        @Bean
        public StringRedisTemplate strings(RedisConnectionFactory connections) {
            return new StringRedisTemplate(connections);
        }

        @Bean
        public RedisTemplate<String, Object> objects(RedisConnectionFactory connections) {
            RedisTemplate<String, Object> template = new RedisTemplate<>();
            template.setKeySerializer(RedisSerializer.string());
            template.setHashKeySerializer(RedisSerializer.string());
            template.setConnectionFactory(connections);
            return template;
        }

        @Bean
        public LockProvider locks(RedisConnectionFactory connections) {
            return new RedisLockProvider(connections, "test");
        }
    }

    private static AnnotationConfigApplicationContext context(Programs.Place at) {
        place = at;
        return at.open(new AnnotationConfigApplicationContext(Application.class));
    }

    private static void template(Programs.Place at) {
        StringRedisTemplate template = context(at).getBean(StringRedisTemplate.class);
        Programs.equal(template.opsForValue().setIfAbsent("a", "1", Duration.ofSeconds(100)), true);
        Programs.equal(template.opsForValue().increment("a", 4), 5L);
        template.opsForHash().putAll("h", Map.of("name", "ann", "age", "41"));
        Programs.equal(template.opsForHash().increment("h", "age", 1), 42L);
        List<Object> piped = template.executePipelined((RedisCallback<Object>) connection -> {
            for (int n = 0; n < 100; n++) {
                connection.stringCommands().set(("s:" + n).getBytes(), ("" + n).getBytes());
            }
            return null;
        });
        Programs.equal(piped.size(), 100);
        List<Object> replies = template.execute(new SessionCallback<>() {
            @Override
            @SuppressWarnings("unchecked")
            public <K, V> List<Object> execute(RedisOperations<K, V> operations) throws DataAccessException {
                RedisOperations<String, String> strings = (RedisOperations<String, String>) operations;
                strings.watch(List.of("a", "b"));
                strings.multi();
                strings.opsForValue().increment("a");
                strings.opsForValue().increment("b");
                return strings.exec();
            }
        });
        Programs.equal(replies, List.of(6L, 1L));
        String text = "redis.call('DECRBY', KEYS[1], ARGV[1]) return redis.call('INCRBY', KEYS[2], ARGV[1])";
        Programs.equal(template.execute(RedisScript.of(text, Long.class), List.of("a", "b"), "2"), 3L);
        Set<String> seen = new HashSet<>();
        try (Cursor<String> cursor = template.scan(ScanOptions.scanOptions().match("s:*").count(20).build())) {
            cursor.forEachRemaining(seen::add);
        }
        Programs.equal(seen.size(), 100);
        Programs.equal(template.delete(seen), 100L);
    }

    private static void cache(Programs.Place at) {
        var context = context(at);
        Squares squares = context.getBean(Squares.class);
        AtomicInteger made = context.getBean(AtomicInteger.class);
        Programs.check(squares.of(3) == 9 && squares.of(3) == 9 && made.get() == 1);
        squares.put(4, 17);
        Programs.check(squares.of(4) == 17 && made.get() == 1);
        squares.forget(3);
        Programs.check(squares.of(3) == 9 && made.get() == 2);
        squares.forgetAll();
        Programs.check(squares.of(4) == 16 && made.get() == 3);
        Programs.check(context.getBean(StringRedisTemplate.class).getExpire("squares::4") > 0);
    }

    @SuppressWarnings("unchecked")
    private static void sessions(Programs.Place at) {
        RedisTemplate<String, Object> template = (RedisTemplate<String, Object>) context(at).getBean("objects");
        RedisSessionRepository sessions = new RedisSessionRepository(template);
        sessions.setDefaultMaxInactiveInterval(Duration.ofSeconds(100));
        String last = visit(sessions);
        Programs.check(template.getExpire("spring:session:sessions:" + last) > 0);
        sessions.deleteById(last);
        Programs.equal(sessions.findById(last), null);
    }

    /** What an application does with its sessions, whose class is the repository's own; gives the last one's id. */
    private static <S extends Session> String visit(SessionRepository<S> sessions) {
        S session = sessions.createSession();
        session.setAttribute("user", "ann");
        sessions.save(session);
        S one = sessions.findById(session.getId());
        S other = sessions.findById(session.getId());
        one.setAttribute("cart", List.of("book").toString());
        other.setLastAccessedTime(Instant.now());
        other.removeAttribute("user");
        sessions.save(one);
        sessions.save(other);
        S both = sessions.findById(session.getId());
        Programs.equal(both.getAttributeNames(), Set.of("cart"));
        String before = both.getId();
        String after = both.changeSessionId();
        sessions.save(both);
        Programs.equal(sessions.findById(before), null);
        Programs.equal(sessions.findById(after).getAttribute("cart"), "[book]");
        return after;
    }

    @SuppressWarnings("unchecked")
    private static void indexedSessions(Programs.Place at) throws Exception {
        RedisTemplate<String, Object> template = (RedisTemplate<String, Object>) context(at).getBean("objects");
        RedisIndexedSessionRepository sessions = new RedisIndexedSessionRepository(template);
        at.open(sessions::destroy);
        var session = sessions.createSession();
        session.setAttribute(RedisIndexedSessionRepository.PRINCIPAL_NAME_INDEX_NAME, "ann");
        sessions.save(session);
        Programs.equal(sessions.findByPrincipalName("ann").keySet(), Set.of(session.getId()));
    }

    private static void shedLock(Programs.Place at) {
        LockProvider locks = context(at).getBean(LockProvider.class);
        LockConfiguration task = new LockConfiguration(Instant.now(), "report", Duration.ofSeconds(30), Duration.ZERO);
        SimpleLock held = locks.lock(task).orElseThrow();
        Programs.equal(locks.lock(task), Optional.empty());
        SimpleLock longer = held.extend(Duration.ofSeconds(60), Duration.ZERO).orElseThrow();
        longer.unlock();
        Programs.check(locks.lock(task).isPresent());
    }
}
