use super::*;
use brickyard_command::OwnedArgs;
use brickyard_command::table::lookup_full;

fn holds(pause: Pause, request: &str) -> bool {
    let args: OwnedArgs = request.split(' ').collect();
    pause.holds(args.as_args(), std::iter::empty())
}

#[test]
fn writes_wait_and_reads_do_not() {
    for (request, is_write) in [
        ("set k v", true),
        ("GET k", false),
        ("flushall", true),
        ("function flush", true),
        ("function list", false),
        ("eval x 0", true),
        ("eval_ro x 0", false),
        ("fcall x 0", true),
        ("publish c m", true),
        ("ping", false),
        ("client pause 5", false),
        ("client unpause", false),
        ("auth x", false),
        ("multi", false),
        ("nosuch", false),
    ] {
        assert_eq!(holds(Pause::Writes, request), is_write, "{request}");
    }
    for (request, waits) in [
        ("get k", true),
        ("ping", true),
        ("client list", true),
        ("client unpause", false),
        ("hello 3", false),
        ("quit", false),
    ] {
        assert_eq!(holds(Pause::All, request), waits, "{request}");
    }
    let exec: OwnedArgs = ["exec"].iter().collect();
    let queued = |name: &str| {
        let spec = lookup_full(name.as_bytes()).unwrap();
        Pause::Writes.holds(exec.as_args(), std::iter::once(spec))
    };
    assert!(queued("incr") && queued("evalsha") && !queued("strlen"));
}

#[test]
fn of_two_pauses_the_later_end_counts_and_what_either_holds() {
    let pause = NodePause::default();
    let at = Instant;
    assert_eq!(pause.at(at(5)), None);
    pause.begin(at(5), Duration::from_nanos(10), Pause::Writes);
    assert_eq!(pause.at(at(14)), Some(Pause::Writes));
    assert_eq!(pause.at(at(15)), None);
    pause.begin(at(6), Duration::from_nanos(2), Pause::All);
    assert_eq!(pause.at(at(14)), Some(Pause::All));
    assert_eq!(pause.ends_at(at(14)), Some(at(15)));
    pause.begin(at(20), Duration::MAX, Pause::Writes);
    assert_eq!(pause.at(at(u64::MAX - 1)), Some(Pause::Writes));
    pause.end();
    assert_eq!(pause.at(at(20)), None);
}
