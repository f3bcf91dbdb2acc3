// Clients of Java, and real programs on top of them, each at one thing that it is used for; see ../../README.md.
//
// In:  an array of programs of each file. Out: a line for each, of three columns with tabulators between.
// Invariant: a program that needs a command fails by that command and nothing else, or it is no longer said to need it.

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;

public final class Programs {
    /** For one program; the longest takes a few seconds. */
    private static final long PATIENCE_SECONDS = 60;

    private static final Pattern UNKNOWN = Pattern.compile("unknown command '(\\w+)'", Pattern.CASE_INSENSITIVE);

    private Programs() {}

    /** What a program does; it throws if something is not as it should be. */
    interface Body {
        void run(Place at) throws Exception;
    }

    /** A program by name, what it does, what it needs that is not served (the command that it fails by, or null), and itself. */
    record Program(String client, String does, String needs, Body body) {
        Program(String client, String does, Body body) {
            this(client, does, null, body);
        }
    }

    /** A cluster: the node port of one of its nodes, and the bricks' ports of all. What a program opened is closed after it. */
    record Place(HostAndPort node, Set<HostAndPort> seeds, Deque<AutoCloseable> closing) {
        /** Remembers to close it when the program has ended, the last first. */
        <T extends AutoCloseable> T open(T opened) {
            closing.push(opened);
            return opened;
        }

        void end() {
            while (!closing.isEmpty()) {
                try {
                    closing.pop().close();
                } catch (Exception failure) {
                    failure.printStackTrace();
                }
            }
        }

        void empty() {
            List<HostAndPort> all = new ArrayList<>(seeds);
            all.add(node);
            for (HostAndPort address : all) {
                try (Jedis client = new Jedis(address)) {
                    client.flushAll();
                }
            }
        }
    }

    static void equal(Object got, Object wanted) {
        if (!Objects.equals(got, wanted)) {
            throw new AssertionError("got " + got + ", wanted " + wanted);
        }
    }

    static void check(boolean holds) {
        if (!holds) {
            throw new AssertionError("not so");
        }
    }

    /** Whether it fails, as it should. */
    static boolean fails(Callable<?> call) {
        try {
            call.call();
            return false;
        } catch (Exception failure) {
            return true;
        }
    }

    /** Whether the failure, or what it came from, is the server's word that it does not know the command. */
    private static boolean isUnknown(String command, Throwable failure) {
        if (failure == null) {
            return false;
        }
        String text = String.valueOf(failure.getMessage());
        Matcher named = UNKNOWN.matcher(text);
        if (named.find()) {
            return named.group(1).equalsIgnoreCase(command);
        }
        // A script's error does not name it.
        return text.toLowerCase().contains("unknown redis command called from script") || isUnknown(command, failure.getCause());
    }

    /** Whether a partition changed hands meanwhile, which a busy machine does to a cluster. Applications go on by themselves then. */
    private static boolean isToBeRepeated(Throwable failure) {
        if (failure == null) {
            return false;
        }
        String text = String.valueOf(failure.getMessage());
        return text.contains("try again") || text.contains("UNKNOWNRESULT") || isToBeRepeated(failure.getCause());
    }

    /** Runs it over an empty table, and gives what it failed by. */
    private static Exception attempt(Program program, Place at) {
        ExecutorService thread = Executors.newSingleThreadExecutor();
        Callable<Void> body = () -> {
            at.empty();
            program.body.run(at);
            return null;
        };
        try {
            thread.submit(body).get(PATIENCE_SECONDS, TimeUnit.SECONDS);
            return null;
        } catch (Exception failure) {
            return failure;
        } finally {
            at.end();
            thread.shutdownNow();
        }
    }

    private static String outcome(Program program, Place at) {
        long begin = System.nanoTime();
        while (true) {
            Exception failure = attempt(program, at);
            if (failure == null) {
                return "works";
            }
            if (program.needs != null && isUnknown(program.needs, failure)) {
                return "needs " + program.needs;
            }
            failure.printStackTrace();
            if (!isToBeRepeated(failure) || System.nanoTime() - begin > TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS)) {
                return "fails";
            }
            System.err.println("again: " + program.client + ": " + program.does);
        }
    }

    /** Usage: Programs NODE_PORT SEEDS [ONLY]. Runs those whose client or effect has that in it. */
    public static void main(String[] arguments) {
        Set<HostAndPort> seeds = Arrays.stream(arguments[1].split(",")).map(HostAndPort::from).collect(Collectors.toSet());
        Place at = new Place(HostAndPort.from(arguments[0]), seeds, new ArrayDeque<>());
        String only = arguments.length > 2 ? arguments[2] : "";
        boolean isFine = true;
        for (Program[] programs : List.of(Clients.PROGRAMS, Redissons.PROGRAMS, Springs.PROGRAMS)) {
            for (Program program : programs) {
                if ((program.client + program.does).contains(only)) {
                    String said = outcome(program, at);
                    isFine &= !said.equals("fails");
                    System.out.println(program.client + "\t" + program.does + "\t" + said);
                }
            }
        }
        // What a library left running must not keep the process.
        System.exit(isFine ? 0 : 1);
    }
}
